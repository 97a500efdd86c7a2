#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""usage: switches_test.py CMAKE

A part that a packager leaves out is left out completely and needs none of its libraries, and files are installed in the
requested folders. Nothing is compiled: empty files replace those that a build would make.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

CMAKE = sys.argv[1]
SOURCE = pathlib.Path(__file__).resolve().parents[2]

# The effects of each switch: the files, the CMake packages, and the pkg-config modules that nothing else needs.
SWITCHES = {
    "GENV_WITH_SHIMS": (r"/shims|/(nvidia-smi|nvml|containers)\.md$", ["EXPAT"], []),
    "GENV_WITH_MONITOR": (r"genv-monitor|/share/genv/(prometheus|grafana)/|/monitoring\.md$", [],
                          ["prometheus-cpp-core", "libmicrohttpd"]),
    "GENV_WITH_TOP": (r"genv-top", [], ["ncursesw"]),
    "GENV_WITH_NOTIFY": (r"genv-notify|/notify\.conf\.5|/(notifications|messages)\.md$", [], ["libcurl"]),
    "GENV_WITH_COCKPIT": (r"/share/cockpit/|dev\.genv\.cockpit\.|/cockpit\.md$", [], []),
    "GENV_WITH_PYTHON": (r"/python3[^/]*/|/python\.md$", [], []),
    "GENV_WITH_BENCH": (r"^$", ["benchmark"], []),
    "BUILD_TESTING": (r"^$", ["GTest", "benchmark"], []),
}
FOLDERS = re.compile(r"^(?:genv_folder|set)\((GENV_[A-Z_]+_DIR)\b", re.M)
LAUNCHER = """\
#!/bin/sh
for word; do
    case " $GENV_TEST_MISSING " in *" ${word%% *} "*) exit 1 ;; esac
done
exec pkg-config "$@"
"""


def run(*command, **options):
    done = subprocess.run(command, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    if done.returncode:
        raise AssertionError(f"{' '.join(map(str, command))}: {done.stdout[-3000:]}")
    return done.stdout


class Build:
    """The sources configured with these options, on a machine without these packages and modules."""

    def __init__(self, folder, *options, packages=(), modules=()):
        self.folder, self.build = folder, folder / "build"
        launcher = folder / "pkg-config"
        launcher.write_text(LAUNCHER, encoding="utf-8")
        launcher.chmod(0o755)
        missing = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{package}=ON" for package in packages]
        run(CMAKE, "-G", "Ninja", "-S", SOURCE, "-B", self.build, "-DCMAKE_SKIP_RPATH=ON", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
            "--log-level=WARNING", *options, *missing,
            env={**os.environ, "PKG_CONFIG": str(launcher), "GENV_TEST_MISSING": " ".join(modules)})
        # Every source file of each target exists or can be made.
        run("ninja", "-C", self.build, "-n")

    def install(self):
        """Maps each path to the file that is installed there."""
        for script in self.build.rglob("cmake_install.cmake"):
            for name in re.findall(f'"({re.escape(str(self.build))}/[^"$]+)"', script.read_text(encoding="utf-8")):
                path = pathlib.Path(name)
                if not path.exists():
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.touch()
        root = self.folder / "root"
        run(CMAKE, "--install", self.build, env={**os.environ, "DESTDIR": str(root)})
        return {"/" + str(path.relative_to(root)): path for path in root.rglob("*") if path.is_symlink() or path.is_file()}


class Switches(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            cls.everything = set(Build(pathlib.Path(folder), "-DCMAKE_INSTALL_PREFIX=/usr").install())

    def check(self, names, *options):
        patterns, packages, modules = zip(*(SWITCHES[name] for name in names))
        with tempfile.TemporaryDirectory() as folder:
            build = Build(pathlib.Path(folder), "-DCMAKE_INSTALL_PREFIX=/usr", *(f"-D{name}=OFF" for name in names), *options,
                          packages=sum(packages, []), modules=sum(modules, []))
            installed = build.install()
            gone = {path for path in self.everything if any(re.search(pattern, path) for pattern in patterns)}
            self.assertEqual(sorted(self.everything - gone), sorted(installed))
            for path, file in installed.items():
                if path.endswith(".md") and file.is_file():
                    for page in re.findall(r"\]\(([\w-]+\.md)", file.read_text(encoding="utf-8")):
                        self.assertTrue(file.with_name(page).exists(), f"{path} refers to {page}")

    def test_shims(self):
        self.check(["GENV_WITH_SHIMS"])

    def test_monitor(self):
        self.check(["GENV_WITH_MONITOR"])

    def test_notify(self):
        self.check(["GENV_WITH_NOTIFY"])

    def test_cockpit(self):
        self.check(["GENV_WITH_COCKPIT"])

    def test_python(self):
        self.check(["GENV_WITH_PYTHON"])

    def test_bench(self):
        self.check(["GENV_WITH_BENCH"])

    def test_tests(self):
        self.check(["BUILD_TESTING"])

    def test_all_of_them(self):
        self.check(list(SWITCHES))

    def test_each_takes_something_away(self):
        for name, (pattern, packages, modules) in SWITCHES.items():
            self.assertTrue(packages or modules or any(re.search(pattern, path) for path in self.everything), name)


class Folders(unittest.TestCase):
    def test_another_prefix_keeps_all_together_and_files_name_it(self):
        with tempfile.TemporaryDirectory() as folder:
            build = Build(pathlib.Path(folder), "-DCMAKE_INSTALL_PREFIX=/opt/genv", "-DBUILD_TESTING=OFF")
            installed = build.install()
            outside = sorted(path for path in installed if not path.startswith("/opt/genv/"))
            self.assertEqual(outside, ["/etc/genv/genvd.conf", "/etc/xdg/autostart/genv-notify.desktop"])
            unit = installed["/opt/genv/lib/systemd/system/genvd.service"].read_text(encoding="utf-8")
            self.assertIn("\nExecStart=/opt/genv/libexec/genv/genvd ", unit)
            notifier = installed["/opt/genv/lib/systemd/user/genv-notify.service"].read_text(encoding="utf-8")
            self.assertIn("\nExecStart=/opt/genv/bin/genv-notify\n", notifier)
            pkgconfig, = (file for path, file in installed.items() if path.endswith("/pkgconfig/genv.pc"))
            self.assertIn("prefix=/opt/genv\n", pkgconfig.read_text(encoding="utf-8"))
            commands = (build.build / "compile_commands.json").read_text(encoding="utf-8")
            for path in ("libexec/genv/genvd", "libexec/genv/genv-monitor", "libexec/genv/shims", "share"):
                self.assertIn(f'=\\\\\\"/opt/genv/{path}\\\\\\"', commands)
            for path, file in installed.items():
                if re.search(r"/systemd/(system|user)/|/man[0-9]/|/dbus-1/|\.pc$|/genv\.conf$", path):
                    text = file.read_text(encoding="utf-8")
                    self.assertNotRegex(text, r"/usr/(local/)?(libexec|share|lib)/genv", path)
                    self.assertNotRegex(text, r"@[A-Z_]+@", path)

    def test_each_folder_can_be_somewhere_else(self):
        text = (SOURCE / "data/packaging/folders.cmake").read_text(encoding="utf-8")
        names = sorted(set(FOLDERS.findall(text)) - {"GENV_ENVIRONMENT_DIR"})
        self.assertGreaterEqual(len(names), 11)
        with tempfile.TemporaryDirectory() as folder:
            installed = Build(pathlib.Path(folder), "-DBUILD_TESTING=OFF", "-DGENV_ENVIRONMENT_DIR=/srv/options",
                              *(f"-D{name}=/srv/{name}" for name in names)).install()
            for name in names:
                self.assertTrue(any(path.startswith(f"/srv/{name}/") for path in installed), name)
            unit = installed["/srv/GENV_SYSTEMD_SYSTEM_UNIT_DIR/genv-monitor.service"].read_text(encoding="utf-8")
            self.assertIn("\nEnvironmentFile=-/srv/options/genv-monitor\n", unit)


class Pages(unittest.TestCase):
    def test_packagers_read_of_every_switch_and_folder(self):
        page = (SOURCE / "data/doc/packaging.md").read_text(encoding="utf-8")
        options = re.findall(r"^option\((GENV_WITH_\w+)", (SOURCE / "CMakeLists.txt").read_text(encoding="utf-8"), re.M)
        self.assertEqual(sorted([*options, "BUILD_TESTING"]), sorted(SWITCHES))
        folders = (SOURCE / "data/packaging/folders.cmake").read_text(encoding="utf-8")
        for name in [*SWITCHES, *FOLDERS.findall(folders)]:
            self.assertTrue(f"`{name}`" in page, name)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
