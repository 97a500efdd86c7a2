# SPDX-License-Identifier: LGPL-2.1-or-later
"""A machine is upgraded to the next Debian while users hold GPUs, and then gets genv's packages for that Debian.

The packages of the next Debian are downloaded before the machine boots, since it has no network, and kept for later
runs.
"""

import glob
import os
import shutil
import subprocess

import restarts
import scenario
from machine import BUILD, ROOT
from scenario import await_that

HERE = os.path.dirname(os.path.realpath(__file__))
SUITE = os.environ.get("GENV_NEXT_SUITE", "")
PACKAGES = os.environ.get("GENV_NEXT_PACKAGES", "")
APT = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "--quiet", "--yes", "--no-install-recommends",
       "--option=Dpkg::Use-Pty=0", "--option=Dpkg::Options::=--force-confold"]
# Packages that only other tests need are removed first: they would double the download.
SPARED = ["g++", "pkgconf", "python-is-python3", "python3-ipykernel"]
UPGRADE_SECONDS = 900


def next_packages():
    """Returns genv's packages for the next Debian."""
    found = [deb for deb in sorted(glob.glob(os.path.join(PACKAGES, "*.deb"))) if "-dbgsym_" not in deb]
    if not found:
        raise SystemExit(f"there are no packages in {PACKAGES}: ./dev test --on {SUITE} makes them")
    return found


def in_root(command):
    """Runs a command in the machine's root folder before it boots."""
    subprocess.run(["chroot", ROOT, *command], check=True, stdin=subprocess.DEVNULL)


def fetch():
    """Provides the next Debian's packages to the machine's apt."""
    kept = os.path.join(BUILD, "machine", f"packages-of-{SUITE}")
    os.makedirs(os.path.join(kept, "partial"), exist_ok=True)
    archives = os.path.join(ROOT, "var/cache/apt/archives")
    subprocess.run(["mount", "--bind", kept, archives], check=True)
    source = subprocess.run([os.path.join(HERE, "mirror"), SUITE], check=True, capture_output=True, text=True).stdout
    for old in glob.glob(os.path.join(ROOT, "etc/apt/sources.list.d/*")):
        os.remove(old)
    with open(os.path.join(ROOT, "etc/apt/sources.list"), "w", encoding="utf-8") as file:
        file.write(source)
    proxy = subprocess.run("apt-config dump | grep -i '^Acquire::[^ ]*proxy'", shell=True, check=False, capture_output=True,
                           text=True).stdout
    with open(os.path.join(ROOT, "etc/apt/apt.conf.d/90mirror"), "w", encoding="utf-8") as file:
        file.write(proxy)
    with open(os.path.join(ROOT, "etc/hosts"), encoding="utf-8") as file:
        hosts = file.read()
    for name in ("hosts", "resolv.conf"):
        shutil.copyfile(os.path.join("/etc", name), os.path.join(ROOT, "etc", name))
    in_root([*APT, "purge", "--autoremove", *SPARED])
    in_root([*APT, "update"])
    in_root([*APT, "dist-upgrade", "--download-only"])
    folder = os.path.join(ROOT, "root/next")
    os.mkdir(folder)
    for deb in next_packages():
        shutil.copy(deb, folder)
    in_root([*APT, "install", "--download-only", *(f"/root/next/{name}" for name in os.listdir(folder))])
    shutil.rmtree(folder)
    with open(os.path.join(ROOT, "etc/hosts"), "w", encoding="utf-8") as file:
        file.write(hosts)


class DistUpgrade(restarts.Held):
    """The holders and waiting users of Held, during the whole upgrade."""

    @staticmethod
    def genv():
        return scenario.machine.must(["dpkg-query", "--show", "--showformat=${Version}", "genv"])

    @staticmethod
    def policy():
        return scenario.machine.must(
            ["busctl", "get-property", "dev.genv.Manager", "/dev/genv/Manager", "dev.genv.Manager", "Policy"])

    def await_still_held(self):
        await_that("those who wait", lambda: self.queue() == ["bob", "carol"])
        self.assertEqual(self.state(), self.before)
        self.assertEqual(scenario.machine.must(["systemctl", "--failed", "--no-legend"]), "")

    def test_what_people_hold_outlives_the_distribution(self):
        machine = scenario.machine
        with open(machine.path("/etc/genv/genvd.conf"), "a", encoding="utf-8") as file:
            file.write("\n[Enforcement]\nInterval=7s\n")
        old = self.genv()

        machine.must([*APT, "--no-download", "dist-upgrade"], timeout=UPGRADE_SECONDS)
        self.assertIn(f"VERSION_CODENAME={SUITE}\n", machine.read("/etc/os-release"))
        running = machine.must(["busctl", "get-property", "org.freedesktop.systemd1", "/org/freedesktop/systemd1",
                                "org.freedesktop.systemd1.Manager", "Version"])
        self.assertRegex(running, r'"2(5[3-9]|[6-9])')
        self.assertEqual(self.genv(), old)
        self.await_still_held()

        # The service that was built for the previous Debian starts on this one.
        machine.must(["systemctl", "restart", "genvd"])
        self.await_another()
        self.await_still_held()
        self.pid = machine.unit("MainPID")

        done = machine.install(next_packages())
        self.assertEqual(done.status, 0, done)
        self.assertNotEqual(self.genv(), old)
        self.await_another()
        linked = machine.must(["sed", "-n", r"s,.*/\(libsdbus-c++\.so\.[0-9]*\).*,\1,p", f"/proc/{machine.unit('MainPID')}/maps"])
        self.assertEqual(set(linked.split()), {"libsdbus-c++.so.2"})
        self.assertTrue(machine.read("/etc/genv/genvd.conf").endswith("\n[Enforcement]\nInterval=7s\n"))
        self.assertIn(' "Interval" t 7 ', self.policy())
        self.assertEqual(machine.must(["systemctl", "--failed", "--no-legend"]), "")
        self.assert_kept()
