#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""usage: contents_test.py PACKAGES-FOLDER BUILD-FOLDER CMAKE

Every file that the build installs is in the package where Debian's users expect it and in no other, and other programs
can read the files that are meant for them.
"""

import fnmatch
import gzip
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ET

PACKAGES, BUILD, CMAKE = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
SOURCE = pathlib.Path(__file__).resolve().parents[2]

# The first matching pattern gives the package of a file. Files without a match belong to the package genv.
BELONGS = [
    ("/usr/include/*", "libgenv-dev"),
    ("/usr/lib/*/pkgconfig/*", "libgenv-dev"),
    ("/usr/lib/*/libgenv.so", "libgenv-dev"),
    ("/usr/lib/*/libgenv.so.1*", "libgenv1"),
    ("/usr/share/dbus-1/interfaces/*", "libgenv-dev"),
    ("/usr/share/doc/genv/libgenv.md", "libgenv-dev"),
    ("/usr/share/doc/genv/examples/*.cpp", "libgenv-dev"),
    ("/usr/lib/python3/*", "python3-genv"),
    ("/usr/share/cockpit/*", "cockpit-genv"),
    ("*/dev.genv.cockpit.*", "cockpit-genv"),
    ("*/genv-monitor", "genv-monitor"),
    ("*/genv-monitor.*", "genv-monitor"),
    ("/usr/share/genv/grafana/*", "genv-monitor"),
    ("/usr/share/genv/prometheus/*", "genv-monitor"),
]
# Files that the packaging adds: each package's documents, and files of debhelper and of Python.
ADDED = [
    "/usr/share/doc/*/changelog.gz",
    "/usr/share/doc/*/copyright",
    "/usr/share/lintian/overrides/*",
    "/usr/lib/python3/dist-packages/genv-*-info/*",
    "/etc/default/genv-monitor",
]
NAMES = {"cockpit-genv", "genv", "genv-monitor", "libgenv1", "libgenv-dev", "python3-genv"}


def run(*command, **options):
    return subprocess.run(command, check=True, text=True, capture_output=True, **options).stdout


def files_below(root):
    """Returns paths below /usr. Debian 12 has its units in /lib, and a compressed file counts as the same file."""
    found = set()
    for folder, folders, names in os.walk(root):
        for name in names + [f for f in folders if os.path.islink(os.path.join(folder, f))]:
            path = "/" + os.path.relpath(os.path.join(folder, name), root)
            if path.startswith("/lib/"):
                path = "/usr" + path
            if re.match(r"/usr/share/(doc|man)/", path) and not path.endswith("changelog.gz"):
                path = path.removesuffix(".gz")
            found.add(path)
    return found


class Contents(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.roots = {}
        cls.fields = {}
        # All packages together, as on a machine.
        cls.root = pathlib.Path(cls.folder.name) / "machine"
        for package in sorted(PACKAGES.glob("*.deb")):
            name = package.name.split("_")[0]
            if name.endswith("-dbgsym"):
                continue
            root = pathlib.Path(cls.folder.name) / name
            run("dpkg-deb", "-x", package, root)
            run("dpkg-deb", "-x", package, cls.root)
            run("dpkg-deb", "-e", package, root / "DEBIAN")
            cls.fields[name] = dict(
                line.split(": ", 1) for line in run("dpkg-deb", "-f", package).splitlines() if re.match(r"\S+: ", line)
            )
            cls.roots[name] = root
        # Debian 12's debhelper looks for them only there; later versions expect them below /usr.
        cls.units, = (folder for folder in (cls.root / "lib/systemd/system", cls.root / "usr/lib/systemd/system")
                      if folder.is_dir())
        installed = pathlib.Path(cls.folder.name) / "installed"
        run(CMAKE, "--install", BUILD, env={**os.environ, "DESTDIR": str(installed)})
        cls.installed = files_below(installed)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def packaged(self, name):
        return {path for path in files_below(self.roots[name]) if not path.startswith("/DEBIAN/")}

    def programs(self):
        for name, root in self.roots.items():
            for path in sorted(self.packaged(name)):
                file = root / path[1:]
                if file.is_file() and not file.is_symlink() and file.read_bytes()[:4] == b"\x7fELF":
                    yield path, file

    def test_there_are_the_packages_that_there_are_to_be(self):
        self.assertEqual(set(self.roots), NAMES)

    def test_every_installed_file_is_in_its_package_and_nothing_else(self):
        wanted = {name: set() for name in NAMES}
        for path in self.installed:
            wanted[next((name for pattern, name in BELONGS if fnmatch.fnmatch(path, pattern)), "genv")].add(path)
        for name in sorted(NAMES):
            with self.subTest(name):
                got = {p for p in self.packaged(name) if not any(fnmatch.fnmatch(p, pattern) for pattern in ADDED)}
                self.assertEqual(sorted(got), sorted(wanted[name]))

    def test_the_configuration_is_the_administrators(self):
        for name in sorted(NAMES):
            listed = self.roots[name] / "DEBIAN/conffiles"
            conffiles = set(listed.read_text(encoding="utf-8").split()) if listed.exists() else set()
            self.assertEqual(conffiles, {p for p in self.packaged(name) if p.startswith("/etc/")}, name)
        self.assertIn("/etc/genv/genvd.conf", self.packaged("genv"))
        self.assertTrue((self.roots["genv"] / "etc/genv/genvd.conf.d").is_dir())

    def test_only_an_administrator_enables_the_unit_that_keeps_users_out(self):
        scripts = self.roots["genv"] / "DEBIAN"
        for name, is_there in (("postinst", False), ("postrm", False), ("prerm", True)):  # which removes its links
            text = (scripts / name).read_text(encoding="utf-8")
            self.assertIn("'genv-isolation.service'", text)
            self.assertNotIn("'genv-isolation-required.service'", text, name)
            self.assertEqual("genv-isolation-required.service" in text, is_there, name)

    def test_the_maintainer_is_whoever_builds_them(self):
        maintainer = "Ada O'Tester & Co <ada@packages.example>"  # set in CMakeLists.txt
        for name in sorted(NAMES):
            self.assertEqual(self.fields[name]["Maintainer"], maintainer, name)
        changes, = PACKAGES.glob("*.changes")
        self.assertIn(f"\nMaintainer: {maintainer}\nChanged-By: {maintainer}\n", changes.read_text(encoding="utf-8"))
        for file in (SOURCE / "data/debian").rglob("*"):
            if file.is_file():
                addresses = set(re.findall(r"<(\S+@\S+)>", file.read_text(encoding="utf-8")))
                self.assertLessEqual(addresses, {"maintainers@genv.example"}, file)
                named = file.relative_to(SOURCE / "data/debian") in {pathlib.Path("control"), pathlib.Path("changelog")}
                self.assertEqual(bool(addresses), named, file)

    def test_half_a_maintainer_is_refused(self):
        for half in {"DEBFULLNAME": "Ada"}, {"DEBEMAIL": "ada@packages.example"}:
            environment = {name: value for name, value in os.environ.items() if name not in ("DEBFULLNAME", "DEBEMAIL")}
            built = subprocess.run([SOURCE / "data/packaging/build-packages", "/nonexistent", "/nonexistent"], text=True,
                                   env={**environment, **half}, capture_output=True, check=False)
            self.assertEqual(built.returncode, 2, built)
            self.assertIn("expected a name in DEBFULLNAME and an address in DEBEMAIL", built.stderr)

    def test_dependencies(self):
        genv = self.fields["genv"]["Depends"]
        for dependency in ("polkitd", "systemd", "default-dbus-system-bus | dbus-system-bus"):
            self.assertIn(dependency, genv)
        self.assertNotIn("libgenv1", genv)  # its programs contain the library
        everything = " ".join(fields.get("Depends", "") for fields in self.fields.values())
        self.assertNotRegex(everything, r"nvidia|docker|podman|\bprometheus\b(?!-cpp)")
        self.assertIn("python3-jeepney", self.fields["python3-genv"]["Depends"])
        version = self.fields["libgenv1"]["Version"]
        self.assertIn(f"libgenv1 (= {version})", self.fields["libgenv-dev"]["Depends"])
        self.assertIn("systemd-sysusers", self.fields["genv-monitor"]["Depends"])
        self.assertEqual(self.fields["python3-genv"]["Architecture"], "all")

    def test_the_page_of_cockpit_is_whole_and_waits_for_the_service(self):
        self.assertEqual(self.fields["cockpit-genv"]["Architecture"], "all")
        version = self.fields["cockpit-genv"]["Version"]
        self.assertIn(f"cockpit-bridge (>= 287), genv (>= {version})", self.fields["cockpit-genv"]["Depends"])
        page = self.root / "usr/share/cockpit/genv"
        manifest = json.loads((page / "manifest.json").read_text(encoding="utf-8"))
        condition = manifest["conditions"][0]["path-exists"]
        self.assertEqual(condition, "/usr/share/dbus-1/system-services/dev.genv.Manager.service")
        self.assertTrue((self.root / condition[1:]).is_file())
        html = (page / "index.html").read_text(encoding="utf-8")
        for name in re.findall(r'(?:src|href)="(?!\.\./)([^"]+)"', html):
            self.assertTrue((page / name).exists() or name == "po.js", name)
        for module in page.rglob("*.js"):
            for name in re.findall(r'from "(\.[^"]+)"', module.read_text(encoding="utf-8")):
                self.assertTrue((module.parent / name).is_file(), f"{module}: {name}")
        # No files of tests or of an editor.
        self.assertEqual({file.suffix for file in page.rglob("*") if file.is_file()}, {".js", ".css", ".html", ".json"})
        self.assertLess(sum(file.stat().st_size for file in page.rglob("*") if file.is_file()), 250_000)

    def test_the_library_has_its_name_and_its_symbols(self):
        library = next(self.roots["libgenv1"].glob("usr/lib/*/libgenv.so.1"))
        self.assertIn("soname: [libgenv.so.1]", run("readelf", "-d", library))
        symbols = (self.roots["libgenv1"] / "DEBIAN/symbols").read_text(encoding="utf-8")
        self.assertIn("libgenv.so.1 libgenv1 #MINVER#", symbols)
        self.assertIn("GENV_1@GENV_1 2.0.0", symbols)
        mangled = {line.split()[0] for line in symbols.splitlines() if line.startswith(" ")}
        exported = {line.split()[-1] for line in run("nm", "-D", "--defined-only", library.resolve()).splitlines()}
        self.assertEqual(mangled, {name.replace("@@", "@") for name in exported} - {"GENV_1"} | {"GENV_1@GENV_1"})

    def test_pkg_config_finds_headers_and_library_where_they_are(self):
        folder = next(self.roots["libgenv-dev"].glob("usr/lib/*/pkgconfig"))
        text = (folder / "genv.pc").read_text(encoding="utf-8")
        self.assertIn("prefix=/usr\n", text)
        self.assertIn("/lib/" + folder.parent.name + "\n", text)

    def test_programs_are_hardened_and_look_for_libraries_nowhere_else(self):
        seen = set()
        for path, file in self.programs():
            seen.add(os.path.basename(path))
            with self.subTest(path):
                headers, dynamic = run("readelf", "-hlW", file), run("readelf", "-dW", file)
                self.assertRegex(headers, r"Type: +DYN")
                self.assertIn("GNU_RELRO", headers)
                self.assertIn("NOW", dynamic)
                self.assertNotRegex(headers, r"GNU_STACK .* RWE")
                self.assertNotRegex(dynamic, r"R(UN)?PATH|TEXTREL")
                self.assertNotIn(".debug_info", run("readelf", "-SW", file))
        self.assertLessEqual({"genvd", "genvctl", "genv-nvml", "genv-park", "genv-slurm", "genv-job", "genv-jobs", "genv-monitor", "genv-notify", "genv-notify-core", "genv-notify-send", "genv-top", "genv-watch", "docker", "nvidia-smi"}, seen)

    def test_the_watcher_of_a_command_needs_libc_only(self):
        """There is one for each running command of "genvctl run"."""
        dynamic = run("readelf", "-dW", self.roots["genv"] / "usr/libexec/genv/genv-watch")
        self.assertEqual(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic), ["libc.so.6"])

    def test_programs_know_where_the_others_are(self):
        text = (self.roots["genv"] / "usr/bin/genvctl").read_bytes()
        # Compilers put short texts, such as the folder of the shims, into instructions.
        for path in ("/usr/libexec/genv/genvd", "/usr/libexec/genv/genv-top", "/usr/libexec/genv/genv-watch",
                     "/usr/libexec/genv/slurm/task-prolog"):
            self.assertTrue(path.encode() in text, path)
            self.assertTrue((self.root / path[1:]).exists(), path)
        self.assertFalse(b"/usr/local/libexec" in text or b"/usr/local/share/genv" in text)

    def test_every_link_of_a_page_leads_somewhere(self):
        folder, links = self.root / "usr/share/doc/genv", 0
        for page in folder.glob("*.md"):
            for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
                links += 1
                self.assertTrue((folder / link).exists(), f"{page.name}: {link}")
        self.assertGreater(links, 40)

    def test_units(self):
        units = sorted(self.units.glob("*.service")) + sorted(self.units.glob("*.socket"))
        self.assertGreaterEqual(len(units), 2)
        user_units = sorted((self.root / "usr/lib/systemd/user").glob("*.service"))
        self.assertEqual([unit.name for unit in user_units],
                         ["genv-jobs-resume.service", "genv-jobs.service", "genv-notify-core.service",
                          "genv-notify-send@.service", "genv-notify.service"])
        for unit in units + user_units:
            # A program without a path is systemd's own.
            for program in re.findall(r"^ExecStart=[-+!@:]*(/\S+)", unit.read_text(encoding="utf-8"), re.M):
                self.assertTrue((self.root / program[1:]).exists(), f"{unit.name}: {program}")
        self.verify("--system", self.units, [unit.name for unit in units])
        self.verify("--user", "usr/lib/systemd/user", [unit.name for unit in user_units])

    def verify(self, manager, folder, units):
        """Verifies units. Their programs are not installed on this machine, so /bin/true replaces them."""
        with tempfile.TemporaryDirectory() as copies:
            for unit in units:
                text = (self.root / folder / unit).read_text(encoding="utf-8")
                text = re.sub(r"^(ExecStart=[-+!@:]*)/usr/\S+", r"\1/bin/true", text, flags=re.M)
                (pathlib.Path(copies) / unit).write_text(text, encoding="utf-8")
            path = {**os.environ, "SYSTEMD_UNIT_PATH": copies + ":", "XDG_RUNTIME_DIR": copies}
            names = [os.path.join(copies, unit) for unit in units]
            done = subprocess.run(["systemd-analyze", "verify", manager, "--man=no", "--recursive-errors=no", *names],
                                  check=False, text=True, capture_output=True, env=path)
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_desktop_and_software_centre_take_what_is_for_them(self):
        for file in [*self.root.glob("etc/xdg/autostart/*"), *self.root.glob("usr/share/applications/*")]:
            run("desktop-file-validate", file)
        metainfo = list(self.root.glob("usr/share/metainfo/*.xml"))
        self.assertEqual(len(metainfo), 2)
        said = subprocess.run(["appstreamcli", "validate", "--no-net", "--pedantic", *metainfo], check=False, text=True,
                              capture_output=True).stdout
        faults = re.findall(r"^\s*[EWP]: [^:]*:[^:]*: (\S+)", said, re.M)
        self.assertEqual(faults, [], said)
        programs = [program.text for file in metainfo for program in ET.parse(file).iter("binary")]
        self.assertIn("genvctl", programs)
        for program in programs:
            self.assertTrue((self.root / "usr/bin" / program).exists(), program)

    def release(self):
        return self.fields["genv"]["Version"].partition("+")[0]

    def test_the_packages_of_the_next_distribution_are_later_ones(self):
        with open("/etc/os-release", encoding="utf-8") as file:
            system = dict(line.rstrip().replace('"', "").split("=", 1) for line in file if "=" in line)
        name = {"debian": "deb"}.get(system["ID"], system["ID"]) + system["VERSION_ID"] if "VERSION_ID" in system else "sid"
        order = [self.release(), f"{self.release()}+deb12", f"{self.release()}+deb13", f"{self.release()}+sid",
                 f"{self.release()}.1+deb12"]
        for earlier, later in zip(order, order[1:]):
            run("dpkg", "--compare-versions", earlier, "lt", later)
        for package, fields in self.fields.items():
            self.assertEqual(fields["Version"], f"{self.release()}+{name}", package)

    def test_all_agree_on_the_release(self):
        release = self.release()
        pkgconfig = next(self.root.glob("usr/lib/*/pkgconfig/genv.pc")).read_text(encoding="utf-8")
        self.assertIn(f"Version: {release}\n", pkgconfig)
        for metainfo in self.root.glob("usr/share/metainfo/*.xml"):
            self.assertEqual(next(ET.parse(metainfo).iter("release")).get("version"), release)
        self.assertTrue((SOURCE / "NEWS.md").read_text(encoding="utf-8").startswith(f"# genv {release}\n"))
        self.assertTrue((self.root / f"usr/lib/python3/dist-packages/genv-{release}.dist-info").is_dir())

    def test_xml_is_valid(self):
        policy = list(self.root.glob("usr/share/polkit-1/actions/*"))
        self.assertEqual(len(policy), 1)
        run("xmllint", "--noout", "--nonet", "--dtdvalid", "/usr/share/polkit-1/policyconfig-1.dtd", *policy)
        others = [*self.root.glob("usr/share/dbus-1/system.d/*"), *self.root.glob("usr/share/dbus-1/interfaces/*"),
                  *self.root.glob("usr/share/icons/**/*.svg")]
        self.assertGreaterEqual(len(others), 5)
        run("xmllint", "--noout", "--nonet", "--nowarning", *others)

    def test_manual_pages_are_for_every_program_and_finished(self):
        for program in self.root.glob("usr/bin/*"):
            self.assertTrue((self.root / f"usr/share/man/man1/{program.name}.1.gz").exists(), program.name)
        for program in ("genvd", "genv-monitor"):
            self.assertTrue((self.root / f"usr/share/man/man8/{program}.8.gz").exists(), program)
        for page in self.root.glob("usr/share/man/*/*.gz"):
            with gzip.open(page, "rt", encoding="utf-8") as text:
                self.assertNotRegex(text.read(), r"@[A-Z_]+@", page.name)

    def test_the_bus_starts_the_unit_that_there_is(self):
        activation = (self.root / "usr/share/dbus-1/system-services/dev.genv.Manager.service").read_text(encoding="utf-8")
        unit = re.search(r"^SystemdService=(\S+)", activation, re.M).group(1)
        self.assertTrue((self.units / unit).exists())
        activation = (self.root / "usr/share/dbus-1/services/dev.genv.Jobs.service").read_text(encoding="utf-8")
        unit = re.search(r"^SystemdService=(\S+)", activation, re.M).group(1)
        self.assertTrue((self.root / "usr/lib/systemd/user" / unit).exists())
        self.assertTrue((self.root / re.search(r"^Exec=/(\S+)", activation, re.M).group(1)).exists())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
