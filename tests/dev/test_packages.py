#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests packages.sh and on: the packages that ./dev installs on each distribution, and its messages if it cannot."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
TREE = HERE.parent.parent
TOOLS = ("awk", "bash", "dpkg", "paste", "readlink", "sed", "sort", "cat")
FUNCTIONS = """
say() { :; }
die() { printf 'dev: %s\\n' "$1" >&2; exit "${2-1}"; }
. "$1/packages.sh"
osRelease=$2
"""
SYSTEMS = {
    "fedora": 'ID=fedora\nPRETTY_NAME="Fedora Linux 43"\n',
    "rocky": 'ID=rocky\nID_LIKE="rhel centos fedora"\nPRETTY_NAME="Rocky Linux 10"\n',
    "manjaro": 'ID=manjaro\nID_LIKE=arch\nPRETTY_NAME="Manjaro Linux"\n',
    "void": "ID=void\nPRETTY_NAME=Void\n",
    "debian": 'ID=debian\nPRETTY_NAME="Debian GNU/Linux 11 (bullseye)"\n',
    "ubuntu": 'ID=ubuntu\nID_LIKE=debian\nPRETTY_NAME="Ubuntu 22.04.5 LTS"\n',
}


class Packages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for tool in TOOLS:
            (self.folder / tool).symlink_to(shutil.which(tool))

    def program(self, name, text):
        (self.folder / name).write_text("#!/bin/sh\n" + text, encoding="utf-8")
        (self.folder / name).chmod(0o755)

    def has_apt(self, versions):
        """Creates an apt that knows these packages, none of which is installed."""
        cases = "".join(f"{name}) echo '  Candidate: {version}' ;;\n" for name, version in versions.items())
        self.program("apt-cache", f'case $2 in\n{cases}esac\n')
        self.program("apt-get", "exit 1\n")
        self.program("dpkg-query", "exit 1\n")

    def run_with(self, system, script):
        (self.folder / "os-release").write_text(SYSTEMS[system], encoding="utf-8")
        return subprocess.run(["bash", "-c", FUNCTIONS + script, "_", HERE, self.folder / "os-release"], check=False,
                              capture_output=True, text=True, env={"PATH": str(self.folder)})

    def sentence(self, system, script):
        """Returns the single line of the refusal."""
        result = self.run_with(system, script)
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        return result.stderr

    def test_without_apt_says_how_this_distribution_calls_what_genv_is_built_with(self):
        for system, name, package, other in (("fedora", "Fedora Linux 43", "sdbus-cpp-devel", "libsdbus"),
                                             ("rocky", "Rocky Linux 10", "systemd-devel", "libsystemd-dev"),
                                             ("manjaro", "Manjaro Linux", " sdbus-cpp ", "sdbus-cpp-devel")):
            text = self.sentence(system, "ensure build")
            self.assertIn(f"dev: {name} has no apt", text)
            self.assertIn(package, text)
            self.assertNotIn(other, text)

    def test_an_unknown_distribution_is_told_the_names_of_two_others(self):
        text = self.sentence("void", "ensure build")
        for part in ("Void has no apt", "libsdbus-c++-dev", "sdbus-cpp-devel"):
            self.assertIn(part, text)

    def test_a_package_that_apt_does_not_know_is_named_with_its_other_names(self):
        self.has_apt({"cmake": "3.18"})
        text = self.sentence("debian", "choose cmake libcli11-dev; refuseUnknown")
        self.assertIn("Debian GNU/Linux 11 (bullseye) has no package libcli11-dev, which Fedora calls cli11-devel and Arch cli11",
                      text)

    def test_too_old_a_library_is_named_with_its_version(self):
        self.has_apt({"libsdbus-c++-dev": "1.1.0-1"})
        text = self.sentence("ubuntu", "choose libsdbus-c++-dev; refuseUnknown")
        self.assertIn("Ubuntu 22.04.5 LTS has sdbus-c++ 1.1.0-1 (libsdbus-c++-dev), and genv needs 1.2 or later", text)
        self.has_apt({"libsdbus-c++-dev": "1.4.0-2build2"})
        self.assertEqual(self.run_with("ubuntu", "choose libsdbus-c++-dev; refuseUnknown").returncode, 0)

    def chosen(self, versions, group):
        self.has_apt(versions)
        result = self.run_with("debian", f"missingOf {group}; choose \"${{missing[@]}}\"; refuseUnknown; echo ${{chosen[*]}}")
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.split()

    def test_of_alternatives_the_first_that_apt_knows_is_taken(self):
        self.assertEqual(self.chosen({"clang-14": "1", "libclang-rt-14-dev": "1", "clang-19": "1", "libclang-rt-19-dev": "1"},
                                     "fuzz"), ["clang-14", "libclang-rt-14-dev"])
        self.assertEqual(self.chosen({"clang-19": "1", "libclang-rt-19-dev": "1"}, "fuzz"), ["clang-19", "libclang-rt-19-dev"])

    def test_what_may_be_missing_is_left_out(self):
        lint = self.run_with("debian", 'echo ${packages[lint]}').stdout.split()
        others = [name for name in lint if "|" not in name]
        self.assertEqual(len(lint) - len(others), 5)
        self.assertEqual(self.chosen(dict.fromkeys(others, "1"), "lint"), others)

    def test_every_requirement_has_a_name_in_each_distribution(self):
        lines = (TREE / "data/packaging/requirements").read_text(encoding="utf-8").splitlines()
        rows = [[cell.strip() for cell in line.split("|")] for line in lines if not line.startswith("#")]
        self.assertGreater(len(rows), 10)
        for row in rows:
            self.assertEqual(len(list(filter(None, row))), 4, row)


class On(unittest.TestCase):
    def refusal(self, *command):
        result = subprocess.run(command, check=False, capture_output=True, text=True)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        return result.returncode, result.stderr

    def test_an_unknown_release_is_refused_with_the_known_ones(self):
        for arguments, name in ((["foo"], "foo"), ([], "")):
            status, text = self.refusal(TREE / "dev", "test", "--on", *arguments)
            self.assertEqual((status, text), (2, f'dev: unknown Debian release "{name}": expected one of bookworm trixie sid\n'))

    def test_needs_root(self):
        drop = [] if os.geteuid() else ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        with tempfile.TemporaryDirectory() as folder:
            # This tree may be readable only by root, for example below /root.
            os.chmod(folder, 0o755)
            shutil.copy(TREE / "dev", folder)
            for part in ("tests/dev", "data/packaging"):
                shutil.copytree(TREE / part, pathlib.Path(folder, part))
            status, text = self.refusal(*drop, pathlib.Path(folder, "dev"), "test", "--on", "trixie")
        self.assertEqual(status, 1)
        self.assertIn("needs root", text)
        self.assertIn("sudo", text)


if __name__ == "__main__":
    unittest.main()
