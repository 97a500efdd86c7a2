# SPDX-License-Identifier: LGPL-2.1-or-later
"""The packages on a running machine: upgraded while users hold GPUs, removed, purged completely, and installed again.
"""

import hashlib
import json
import os
import subprocess

import scenario
from cuda_driver import CudaDriver, Program
from machine import FOLDER, PACKAGES, SOURCE
from restarts import Held
from scenario import MachineTest, await_that, packages

# Files that other programs than the packages write while a machine runs.
OTHERS = ("etc/genv", "etc/systemd/system/genvd.service.d", "etc/ld.so.cache", "etc/machine-id", "etc/.pwd.lock", "home",
          "root", "tmp", "var/backups", "var/cache", "var/lib/apt", "var/lib/dpkg", "var/lib/sudo", "var/lib/systemd",
          "var/log", "var/tmp")


def version():
    """Returns genv's version in the machine; empty if it is not installed."""
    return scenario.machine.run(["dpkg-query", "--show", "--showformat=${Version}", "genv"]).out


def next_packages(number):
    """Returns the packages with that version."""
    folder = os.path.join(FOLDER, number)
    subprocess.run([os.path.join(SOURCE, "tests", "package", "with-version"), number, PACKAGES, folder], check=True,
                   stdin=subprocess.DEVNULL)
    return sorted(os.path.join(folder, name) for name in os.listdir(folder))


def names():
    """Returns the packages' names."""
    return [subprocess.run(["dpkg-deb", "--field", deb, "Package"], capture_output=True, text=True, check=True).stdout.strip()
            for deb in packages()]


def files():
    """Maps the path of every file of the machine, except those of others, to a description of it."""
    root = scenario.machine.path("/")
    found = {}
    for folder, folders, others in os.walk(root):
        place = os.path.relpath(folder, root)
        folders[:] = [name for name in folders if os.path.normpath(os.path.join(place, name)) not in OTHERS
                      and not os.path.ismount(os.path.join(folder, name))]
        for name in folders + others:
            path = os.path.join(folder, name)
            relative = os.path.normpath(os.path.join(place, name))
            if relative in OTHERS or name == "__pycache__" or name.endswith(".pyc"):
                continue
            status = os.lstat(path)
            what = [oct(status.st_mode), status.st_uid, status.st_gid]
            if os.path.islink(path):
                what.append(os.readlink(path))
            elif relative.startswith("etc/") and os.path.isfile(path) and not relative.endswith("-"):
                with open(path, "rb") as file:
                    what.append(hashlib.sha256(file.read()).hexdigest())
            found[relative] = what
    return found


before_genv = {}  # the machine's files before the installation of genv
before_accounts = {}  # its users and groups at that time

UNITS = ("genvd.service", "genv-nvml.socket", "genv-park.socket", "genv-slurm.socket", "genv-isolation.service", "genv-monitor.service")
PROGRAMS = ("genvd", "genv-nvml", "genv-park", "genv-slurm", "genv-monitor", "genv-notify", "genv-jobs")
ACCOUNTS = ("etc/passwd", "etc/group", "etc/shadow", "etc/gshadow")


def accounts():
    """Returns the lines of the machine's users and groups, by file."""
    found = {}
    for name in ACCOUNTS:
        with open(scenario.machine.path(name), encoding="utf-8") as file:
            found[name] = set(file.read().splitlines())
    return found


class Job:
    """A job of a user that runs until it may end."""

    def __init__(self, test, shell, name):
        self.test, self.shell, self.name = test, shell, name
        script = f"echo $$ >{name}.pid; until [ -e {name}.go ]; do sleep 0.1; done"
        words = [self.data(word) for word in ("sh", "-c", script)]
        self.number, _ = self.call("Submit", f"'a{{sv}}' 3 command aay {len(words)} {' '.join(words)} "
                                   f"folder ay {self.data('/home/alice')} request 'a{{sv}}' 1 gpus u 0")
        await_that(f"the start of {name}", lambda: self.state() == "running" and self.runs())

    @staticmethod
    def data(text):
        return " ".join(map(str, [len(text.encode()), *text.encode()]))

    def call(self, method, arguments):
        done = self.shell.run(f"busctl --user --json=short call dev.genv.Jobs /dev/genv/Jobs dev.genv.Jobs {method} {arguments}")
        return json.loads(self.test.ok(done))["data"]

    def state(self):
        return self.call("Get", f"u {self.number}")[0]["state"]["data"]

    def runs(self):
        return self.shell.run(f"kill -0 $(cat {self.name}.pid)").status == 0

    def finish(self):
        self.test.ok(self.shell.run(f"touch {self.name}.go"))
        await_that(f"the end of {self.name}", lambda: self.state() == "done")


class AllUnits(MachineTest):
    """Every unit of the packages is enabled and active, including a user's notifier."""

    def run_all(self):
        machine = scenario.machine
        for unit in UNITS:
            if machine.unit("UnitFileState", name=unit) != "static":
                machine.must(["systemctl", "enable", unit])
            machine.must(["systemctl", "start", unit])
        self.notified = self.shell("alice")
        # A user's manager outlives the session, and its notifier would keep notices for later tests.
        self.addCleanup(self.notified.run, "systemctl --user stop genv-notify.service")
        self.ok(self.notified.run("systemctl --user start genv-notify.service"))
        self.assert_all_run()

    def assert_all_run(self):
        for unit in UNITS:
            self.assertEqual(scenario.machine.unit("ActiveState", name=unit), "active", unit)
        self.assertEqual(self.notified.run("systemctl --user is-active genv-notify.service").out, "active\n")
        self.assertEqual(scenario.machine.must(["systemctl", "--failed", "--no-legend"]), "")

    def assert_none_runs(self):
        for unit in UNITS:
            self.assertEqual(scenario.machine.unit("ActiveState", name=unit), "inactive", unit)
        for program in PROGRAMS:
            self.assertEqual(scenario.machine.run(["pgrep", "--list-full", "--full", f"^/usr/(libexec/genv|bin)/{program}"]).out,
                             "", program)
        self.assertEqual(scenario.machine.must(["dpkg", "--audit"]), "")
        self.assertEqual(scenario.machine.must(["systemctl", "--failed", "--no-legend"]), "")


class Upgrade(Held):
    """The holders and waiting users of Held, while the packages are replaced by later ones."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        before_genv.update(files())
        before_accounts.update(accounts())

    def test_nobody_notices_an_upgrade(self):
        machine = scenario.machine
        with open(machine.path("/etc/genv/genvd.conf"), "a", encoding="utf-8") as file:
            file.write("\n[Enforcement]\nInterval=7s\n")
        job = Job(self, self.alice, "upgraded")
        runs = "systemctl --user show --value --property=MainPID genv-jobs.service"
        keeper = self.ok(self.alice.run(runs))
        later = f"{version()}+later"
        done = machine.install(next_packages(later))
        self.assertEqual(done.status, 0, done)
        self.assertEqual(version(), later)
        self.await_another()
        # The genv-jobs of the earlier version runs on, and starts the later genv-job.
        self.assertEqual((self.ok(self.alice.run(runs)), job.state(), job.runs()), (keeper, "running", True))
        Job(self, self.alice, "later").finish()
        job.finish()
        self.assertTrue(machine.read("/etc/genv/genvd.conf").endswith("\n[Enforcement]\nInterval=7s\n"))
        policy = machine.must(["busctl", "get-property", "dev.genv.Manager", "/dev/genv/Manager", "dev.genv.Manager", "Policy"])
        self.assertIn(' "Interval" t 7 ', policy)
        self.assert_kept()
        self.assertEqual(machine.must(["systemctl", "--failed", "--no-legend"]), "")


class Units(AllUnits):
    def exporter(self):
        return scenario.machine.unit("MainPID", name="genv-monitor.service")

    def test_what_runs_is_restarted_by_an_upgrade_and_by_a_reinstallation(self):
        machine = scenario.machine
        self.run_all()
        self.addCleanup(machine.must, ["systemctl", "disable", "--now", "genv-monitor"])
        later = next_packages(f"{version()}+units")
        for options in ((), ("--reinstall",)):
            before = self.exporter()
            done = machine.install(later, *options)
            self.assertEqual(done.status, 0, done)
            self.assert_all_run()
            self.assertNotIn(self.exporter(), ("0", before))
        # A service that an administrator has stopped stays stopped.
        machine.must(["systemctl", "stop", "genv-monitor"])
        self.assertEqual(machine.install(later, "--reinstall").status, 0)
        self.assertEqual(machine.unit("ActiveState", name="genv-monitor.service"), "inactive")


class Removal(AllUnits):
    installed = False  # not installed any more at its end

    def apt(self, *arguments):
        return scenario.machine.must(["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "--yes", "--quiet",
                                      "--option=Dpkg::Use-Pty=0", *arguments])

    def test_what_is_removed_is_gone_and_what_is_installed_again_works(self):
        machine = scenario.machine
        if version() == "":
            machine.write_configuration()
            self.assertEqual(machine.install(packages()).status, 0)
        with open(machine.path("/etc/genv/genvd.conf"), "a", encoding="utf-8") as file:
            file.write("# mine\n")
        driver = CudaDriver(machine)
        driver.serve()
        alice = self.shell("alice")
        self.ok(alice.run("genv activate --gpus 1"))
        parked = Program(self, alice, "parked")
        self.run_all()
        job = Job(self, alice, "removed")
        self.assertEqual(alice.run("genvctl park").status, 0)

        self.apt("remove", *names())
        self.assert_none_runs()
        self.assertTrue(job.runs())
        self.assertTrue(parked.goes_on(), "it went on before genv was gone")
        self.assertTrue(parked.ends_well())
        driver.close()
        self.assertEqual(self.ok(alice.run("systemctl --user --failed --no-legend")), "")
        self.assertTrue(machine.read("/etc/genv/genvd.conf").endswith("# mine\n"))
        # The shell continues, whatever it prints about missing programs.
        self.assertEqual(alice.run("echo here").out, "here\n")

        done = machine.install(packages())
        self.assertEqual(done.status, 0, done)
        self.assertTrue(machine.read("/etc/genv/genvd.conf").endswith("# mine\n"))
        self.assertEqual(self.ok(self.shell("bob").run("genvctl run --gpus 1 -- echo works")), "works\n")
        self.assertEqual(job.state(), "running")
        job.finish()
        alice.close()
        await_that("the end of all environments", lambda: self.json("envs") == [])

        self.run_all()
        self.apt("purge", *names())
        self.assert_none_runs()
        for name in ("/etc/genv", "/etc/genv/genvd.conf"):
            self.assertFalse(os.path.exists(machine.path(name)), name)
        self.assertEqual(machine.run(["ls", "/run/genv"]).status, 2)
        self.assertEqual(machine.must(["systemctl", "--failed", "--no-legend"]), "")
        self.assertEqual(machine.run(["busctl", "status", "dev.genv.Manager"]).status, 1)
        if not before_genv:
            self.skipTest("the files before genv are known only where Upgrade has run, too")
        after = files()
        left = sorted(set(after) - set(before_genv))
        missing = sorted(set(before_genv) - set(after))
        changed = sorted(name for name, what in before_genv.items() if after.get(name, what) != what)
        # Debian keeps the users of packages, so that their uids are not reused.
        self.assertEqual((left, missing, sorted(set(changed) - set(ACCOUNTS))), ([], [], []))
        for name, lines in accounts().items():
            new = lines - before_accounts[name]
            self.assertEqual([line.partition(":")[0] for line in new], ["genv-monitor"], name)
            self.assertEqual(before_accounts[name] - lines, set(), name)
