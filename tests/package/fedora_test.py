#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""usage: fedora_test.py CMAKE

Checks Fedora's spec file as far as Debian can: rpm parses it, rpmlint finds nothing, and the listed files are those
that the build installs in Fedora's folders. Exits with 77 if rpm or rpmlint is missing.
"""

import fnmatch
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.dont_write_bytecode = True

from switches_test import SOURCE, Build, run  # noqa: E402

SPEC = SOURCE / "data/packaging/fedora/genv.spec"
# The values of Fedora's macros; Debian's rpm knows only its own.
MACROS = {
    "_unitdir": "/usr/lib/systemd/system",
    "_userunitdir": "/usr/lib/systemd/user",
    "_sysusersdir": "/usr/lib/sysusers.d",
    "_journalcatalogdir": "/usr/lib/systemd/catalog",
    "_metainfodir": "/usr/share/metainfo",
    "_libdir": "/usr/lib64",
    "_libexecdir": "/usr/libexec",
    "_docdir": "/usr/share/doc",
    "python3_sitelib": "/usr/lib/python3.13/site-packages",
    "dist": ".fc42",
}


class Spec(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        definitions = [word for name, value in MACROS.items() for word in ("--define", f"{name} {value}")]
        cls.text = run("rpmspec", "-P", *definitions, SPEC)

    def test_rpmlint_finds_nothing(self):
        said = run("rpmlint", "--config", SPEC.with_name("rpmlint.toml"), SPEC)
        self.assertRegex(said, r"\b0 errors, 0 warnings\b")

    def test_it_is_of_this_release(self):
        release = re.search(r"VERSION (\S+)", (SOURCE / "CMakeLists.txt").read_text(encoding="utf-8").partition("project(genv")[2])
        self.assertIn(f"\nVersion:        {release.group(1)}\n", self.text)
        self.assertIn(f" - {release.group(1)}-1\n", self.text)

    def lists(self):
        """Maps each package to the patterns that it lists, and to those that it excludes."""
        found = {}
        for name, body in re.findall(r"^%files(.*)\n((?:(?!%files|%changelog).*\n)*)", self.text, re.M):
            lines = [line for line in body.splitlines() if "/" in line and not line.startswith("%dir")]
            excluded = [line.split()[-1] for line in lines if line.startswith("%exclude")]
            found[name.strip()] = ([line.split()[-1] for line in lines if not line.startswith("%exclude")], excluded)
        return found

    def test_each_installed_file_is_in_one_package(self):
        options = re.findall(r"-DGENV_[A-Z_]+=\S+|-DBUILD_TESTING=OFF", self.text)
        self.assertEqual(len(options), 7, options)
        with tempfile.TemporaryDirectory() as folder:
            installed = Build(pathlib.Path(folder), "-DCMAKE_INSTALL_PREFIX=/usr", "-DCMAKE_INSTALL_LIBDIR=lib64", *options).install()
        lists = self.lists()
        self.assertEqual(sorted(lists), ["", "-n cockpit-genv", "-n python3-genv", "devel", "libs", "monitor"])

        def is_listed(path, patterns):
            return any(fnmatch.fnmatch(path, pattern) or path.startswith(f"{pattern}/") or fnmatch.fnmatch(path, f"{pattern}/*")
                       for pattern in patterns)

        for path in installed:
            owners = [name for name, (files, excluded) in lists.items()
                      if is_listed(path, files) and not is_listed(path, excluded)]
            self.assertEqual(len(owners), 1, f"{path}: {owners}")
        for files, _ in lists.values():
            for pattern in files:
                self.assertTrue(any(is_listed(path, [pattern]) for path in installed), pattern)


if __name__ == "__main__":
    if not (shutil.which("rpmspec") and shutil.which("rpmlint")):
        print("fedora_test.py: skipped: needs rpm and rpmlint")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
