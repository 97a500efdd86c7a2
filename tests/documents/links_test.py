#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every link has a target, in the source tree and in the installed documents.

usage: links_test.py SOURCE BUILD CMAKE DOCUMENT-FOLDER [unittest argument]...
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
sys.dont_write_bytecode = True

from markdown import Page, pages  # noqa: E402

SOURCE, BUILD, CMAKE, FOLDER = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
# Files outside the documents that name a document.
NAMING = ("data/man/*", "data/conf/*", "data/systemd/*", "data/slurm/*", "data/journal/*", "client/genvctl/**/*.cpp",
          "service/**/*.cpp")
NAMED = re.compile(r"(?<![\w/.-])(?:data/doc/|(?:/usr/share/doc/genv/)|/)?([a-z][\w-]*\.md)\b")
ROOMS = ("core", "policy", "dbus", "service", "client", "shims", "data", "tests", "bench")
IN_TREE = re.compile(rf"(?:{'|'.join(ROOMS)})/[\w./@*-]+")
# The pages for developers also name files without their folder: "page.hpp", after a folder in the same paragraph.
FOR_DEVELOPERS = ("CONTRIBUTING.md", "architecture.md", "testing.md")
BARE = re.compile(r"[\w.-]+(?:/[\w.-]+)*\.(?:cpp|hpp|h|c|inc|py|js)")


def broken(page, root):
    """Returns the faults in a page's links, one line each."""
    faults = []
    for number, target in page.links():
        if re.match(r"(?:https?|mailto):", target):
            continue
        name, _, anchor = target.partition("#")
        path = pathlib.Path(os.path.normpath(page.path.parent / name)) if name else page.path
        where = f"{page.path.relative_to(root)}:{number}: {target}"
        if not path.is_relative_to(root) or not path.exists():
            faults.append(f"{where}: no such file")
        elif anchor and anchor not in Page(path).anchors():
            faults.append(f"{where}: no such heading")
    return faults


class SourceTree(unittest.TestCase):
    def test_every_link_leads_to_a_file_and_a_heading(self):
        read = pages(SOURCE)
        self.assertEqual([fault for page in read for fault in broken(page, SOURCE)], [])
        self.assertGreater(sum(1 for page in read for _ in page.links()), 100)

    def test_every_path_that_a_document_names_is_there(self):
        faults = []
        for page in pages(SOURCE):
            for number, code in page.code():
                for path in IN_TREE.findall(code) if IN_TREE.fullmatch(code) else []:
                    named = re.search(r"[A-Z]{4,}|\.\.\.", path.replace("CMakeLists", "").replace("README", ""))
                    if not named and not list(SOURCE.glob(path.rstrip("/"))):
                        faults.append(f"{page.path.relative_to(SOURCE)}:{number}: {path}: no such file")
        self.assertEqual(faults, [])

    def test_every_source_that_a_page_for_developers_names_is_there(self):
        sources = {path.name for room in ROOMS for path in (SOURCE / room).rglob("*.*")}
        read = [(page, number, code) for page in pages(SOURCE) if page.path.name in FOR_DEVELOPERS
                for number, code in page.code() if BARE.fullmatch(code) and "NAME" not in code]
        self.assertEqual([f"{page.path.name}:{number}: {code}: no such file" for page, number, code in read
                          if pathlib.PurePath(code).name not in sources], [])
        self.assertGreater(len(read), 100)

    def test_the_index_names_every_page(self):
        index = {target for _, target in Page(SOURCE / "data/doc/README.md").links()}
        names = {path.name for path in SOURCE.glob("data/doc/*.md")} - {"README.md"}
        self.assertEqual(sorted(names - index), [])


class Diagrams(unittest.TestCase):
    def test_they_are_drawn_from_the_text_of_their_program(self):
        folder = SOURCE / "data/doc/pictures"
        with tempfile.TemporaryDirectory() as place:
            subprocess.run([folder / "draw-diagrams", place], check=True)
            for path in pathlib.Path(place).iterdir():
                self.assertEqual((folder / path.name).read_text(encoding="utf-8"), path.read_text(encoding="utf-8"), path.name)
            self.assertGreater(len(os.listdir(place)), 2)


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory()
        subprocess.run([CMAKE, "--install", BUILD, "--component", "documents"], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "DESTDIR": cls.place.name})
        cls.folder = pathlib.Path(cls.place.name + FOLDER)

    @classmethod
    def tearDownClass(cls):
        cls.place.cleanup()

    def test_every_link_leads_to_a_file_and_a_heading(self):
        read = [Page(path) for path in sorted(self.folder.glob("*.md"))]
        self.assertEqual([fault for page in read for fault in broken(page, self.folder)], [])
        self.assertGreater(len(read), 20)

    def test_every_document_that_a_manual_or_a_message_names_is_there(self):
        faults = []
        for pattern in NAMING:
            for path in SOURCE.glob(pattern):
                for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                    text = re.sub(r"\\f.", "", line).replace("\\-", "-")
                    faults += [f"{path.relative_to(SOURCE)}:{number}: {name} is not installed"
                               for name in NAMED.findall(text) if not (self.folder / name).exists()]
        self.assertEqual(faults, [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:])
