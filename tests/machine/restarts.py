# SPDX-License-Identifier: LGPL-2.1-or-later
"""The service is stopped, killed, hung and reloaded, polkit and the bus are restarted, and the machine reboots. The
tests check what users keep."""

import json
import time

import scenario
from machine import BUS
from scenario import Background, MachineTest, await_that


def systemd_version():
    return int(scenario.machine.must(["systemctl", "--version"]).split()[1])


class Held(MachineTest):
    """Alice holds a GPU with a lease and shares another, whose lock she holds. Bob and Carol wait, in this order."""

    def setUp(self):
        super().setUp()
        self.alice, self.bob = self.shell("alice"), self.shell("bob")
        self.ok(self.alice.run("genv activate --gpus 3 --lifetime 2h --name kept"))
        self.aid = self.alice.variable("GENV_ENVIRONMENT_ID")
        self.ok(self.bob.run("genv activate --allow-over-subscribe"))
        self.ok(self.bob.run("genv attach --index 3 --over-subscribe"))
        self.bid = self.bob.variable("GENV_ENVIRONMENT_ID")
        self.ok(self.alice.run("genv attach --index 3 --over-subscribe"))
        self.lock = self.background(
            "alice", f"GENV_ENVIRONMENT_ID={self.aid} genvctl lock -- sh -c 'echo locked; exec cat'")
        self.assertEqual(self.lock.line(), "locked\n")
        self.waiters = []
        for user in ("bob", "carol"):
            self.waiters.append(self.background(user, f"genvctl run --gpus 1 --wait -- sh -c 'echo {user}; exec cat'"))
            await_that(f"{user} in the queue", lambda user=user: user in self.queue())
        self.before = self.state()
        self.lease = self.expires()
        self.pid = scenario.machine.unit("MainPID")

    def expires(self):
        return json.loads(self.ok(self.alice.run("genv status --json")))["expires"]

    def await_another(self):
        """Waits until another process is the service and answers."""
        await_that("another process of the service",
                   lambda: scenario.machine.unit("MainPID") not in ("0", self.pid))
        scenario.machine.must(["genvctl", "devices"])

    def assert_kept(self, lock=True):
        """Asserts that environments, devices, the lease, the queue's order and the lock are unchanged, and that they
        then end as usual."""
        await_that("those who wait", lambda: self.queue() == ["bob", "carol"])
        self.assertEqual(self.state(), self.before)
        # The wall-clock time of an end that is stored in boot time.
        self.assertAlmostEqual(self.expires(), self.lease, delta=1_000_000)
        if lock:
            second = self.background("bob", f"GENV_ENVIRONMENT_ID={self.bid} genvctl lock -- echo mine")
            self.assertIn("wait", second.complaint())
            self.assertEqual(self.lock.finish()[0], 0)
            self.assertEqual(second.finish()[:2], (0, "mine\n"))
        # A released device goes to the user who has waited longest.
        self.ok(self.alice.run("genv detach --index 1"))
        self.assertEqual(self.waiters[0].line(), "bob\n")
        self.assertEqual(self.queue(), ["carol"])
        self.assertEqual(self.waiters[0].finish()[0], 0)
        self.assertEqual(self.waiters[1].line(), "carol\n")
        self.assertEqual(self.waiters[1].finish()[0], 0)


class Broken(MachineTest):
    """A drop-in with an error, with which the service does not start. Commands that call it get a much shorter time
    limit than the bus's timeout of 25 s."""

    PYTHON = "import genv, sys\ntry:\n genv.snapshot()\nexcept genv.ServiceUnavailable as error:\n sys.exit(str(error))"

    def setUp(self):
        super().setUp()
        machine = scenario.machine
        self.alice = self.shell("alice")
        machine.write("/etc/genv/genvd.conf.d/broken.conf", "[Limits]\nMaxDevicesPerUser=8\nNonsense=yes\n")
        self.addCleanup(self.restart)
        self.addCleanup(machine.must, ["rm", "-f", "/etc/genv/genvd.conf.d/broken.conf"])
        self.assertNotEqual(machine.run(["systemctl", "restart", "genvd"]).status, 0)

    @staticmethod
    def restart():
        scenario.machine.must(["systemctl", "restart", "genvd"])

    def asked(self, command):
        return self.alice.run(f"timeout 10 {command}")

    def test_the_unit_says_which_line(self):
        self.assertEqual(scenario.machine.unit("ActiveState", "Result"), {"ActiveState": "failed", "Result": "exit-code"})
        self.assertRegex(scenario.machine.unit("StatusText"), r"^/etc/genv/genvd\.conf\.d/broken\.conf:3: ")

    def test_every_command_says_why_at_once(self):
        for command in ("devices", "envs --json", "run --gpus 1 -- true", "run --gpus 1 --wait -- true", "limits", "queue",
                        "history", "terminate 4711", "enforce --interval 0", "enforce --interval 1", "events",
                        "usage snapshot"):
            done = self.asked(f"genvctl {command}")
            self.refused(done, 6, "genvd.service has failed: /etc/genv/genvd.conf.d/broken.conf:3: ")
            self.assertIn("systemctl restart genvd", done.err)
        self.refused(self.alice.run("genv activate --gpus 1"), 6, "broken.conf:3: ")
        self.refused(self.asked(f"python3 -c '{self.PYTHON}'"), 1,
                     "genvd.service has failed: /etc/genv/genvd.conf.d/broken.conf:3: ")

    def test_a_service_that_the_command_starts_says_it_as_well(self):
        # dbus-daemon asks systemd only once in 25 s, since it does not learn of the failure.
        commands = ("genvctl devices", f"python3 -c '{self.PYTHON}'")[:2 if BUS == "broker" else 1]
        for command in commands:
            scenario.machine.must(["systemctl", "reset-failed", "genvd"])
            self.assertIn("broken.conf:3: ", self.asked(command).err)

    def test_commands_use_no_start_up(self):
        """systemd limits starts to 40 in two minutes."""
        for _ in range(45):
            self.refused(self.asked("genvctl devices"), 6, "broken.conf:3: ")
        scenario.machine.must(["rm", "/etc/genv/genvd.conf.d/broken.conf"])
        self.restart()
        self.ok(self.asked("genvctl devices"))


class Crashing(MachineTest):
    """A service that crashes until systemd gives up. A small limit of starts stands for the unit's."""

    UNIT = "/etc/systemd/system/genvd.service.d/crashing.conf"

    def setUp(self):
        super().setUp()
        scenario.machine.write(self.UNIT, "[Unit]\nStartLimitBurst=3\n[Service]\nRestartSec=100ms\n")
        self.addCleanup(self.start_again)
        scenario.machine.must("systemctl daemon-reload && systemctl restart genvd")

    def start_again(self):
        # Later versions of systemd let a killed program write its memory there.
        scenario.machine.must(f"rm -f {self.UNIT} /core && systemctl daemon-reload && systemctl reset-failed genvd && "
                              "systemctl restart genvd")

    def test_everybody_reads_the_signal_and_a_wait_goes_on(self):
        machine = scenario.machine
        holder, waiter = self.hold("alice", "--gpus 4"), self.background("bob", "genvctl run --gpus 1 --wait -- echo mine")
        await_that("bob in the queue", lambda: self.queue() == ["bob"])

        def has_failed():
            machine.run(["systemctl", "kill", "--signal=SEGV", "--kill-whom=main", "genvd"])
            return machine.unit("ActiveState") == "failed"
        await_that("the start limit", has_failed)
        carol = machine.as_user("carol", "genvctl devices")
        self.refused(carol, 6, "genvd.service has failed: killed by SIG")
        for output in (carol.err, machine.as_user("carol", f"python3 -c '{Broken.PYTHON}'").err,
                       machine.run(["genvctl", "doctor", "service"]).out):
            self.assertRegex(" ".join(output.split()), r"killed by SIG(SEGV|ABRT), after \d restarts?")
            self.assertNotIn("Serving", output)
        machine.must("systemctl reset-failed genvd && systemctl start genvd")
        await_that("bob in the queue again", lambda: self.queue() == ["bob"])
        holder.finish()
        self.assertEqual(waiter.finish()[:2], (0, "mine\n"))


class Kept(Held):
    def test_systemctl_restart(self):
        scenario.machine.must(["systemctl", "restart", "genvd"])
        self.await_another()
        self.assert_kept()

    def test_sigkill(self):
        scenario.machine.must(["systemctl", "kill", "--signal=KILL", "--kill-whom=main", "genvd"])
        self.await_another()
        self.assertEqual(scenario.machine.unit("Result", "ActiveState"), {"Result": "success", "ActiveState": "active"})
        self.assert_kept()

    def test_a_stop_holds_while_somebody_waits(self):
        """The administrator stops the service before a reset of a GPU. Clients that reconnect must not start it."""
        machine = scenario.machine
        events = self.background("carol", "genvctl events")
        events.line()
        machine.must(["systemctl", "stop", "genvd"])
        self.assertIn("service-ended", events.line())
        stopped = time.monotonic()
        # Earlier clients called once a second, and each call started the service.
        await_that("five seconds without a service", lambda: time.monotonic() - stopped > 5)
        self.assertEqual(machine.unit("ActiveState", "MainPID"), {"ActiveState": "inactive", "MainPID": "0"})
        machine.must(["systemctl", "mask", "--runtime", "genvd"])
        self.addCleanup(machine.run, ["systemctl", "unmask", "--runtime", "genvd"])
        for command in ("devices", "run --gpus 1 --wait -- true"):
            refused = self.alice.run(f"genvctl {command}")
            self.refused(refused, 6, "genvd.service is masked")
            self.assertIn("systemctl unmask genvd", refused.err)
        machine.must(["systemctl", "unmask", "--runtime", "genvd"])
        machine.must(["systemctl", "start", "genvd"])
        self.await_another()
        self.assertIn("service-started", events.line())
        self.assert_kept(lock=False)  # systemd keeps no descriptors of a masked unit

    def test_a_wait_survives_a_stop_that_is_longer_than_its_place(self):
        machine = scenario.machine
        machine.must(["systemctl", "stop", "genvd"])
        stopped = time.monotonic()
        await_that("the end of the places", lambda: time.monotonic() - stopped > 31)
        self.assertEqual(machine.unit("ActiveState"), "inactive")
        machine.must(["systemctl", "start", "genvd"])
        self.await_another()
        await_that("both waits again", lambda: sorted(self.queue()) == ["bob", "carol"])

    def test_stop_and_start(self):
        scenario.machine.must(["systemctl", "stop", "genvd"])
        scenario.machine.must(["systemctl", "start", "genvd"])
        self.await_another()
        # Before version 254, systemd keeps descriptors only until the unit is stopped.
        self.assert_kept(lock=systemd_version() >= 254)

    def test_reload_with_good_and_with_bad_configuration(self):
        self.configure("[Limits]\nMaxDevicesPerUser=7\n")
        self.assertRegex(scenario.machine.must(["genvctl", "limits", "carol"]), r"MaxDevicesPerUser +7 ")
        scenario.machine.write("/etc/genv/genvd.conf.d/test.conf", "[Limits]\nMaxDevicesPerUser=8\nNonsense=yes\n")
        self.assertNotEqual(scenario.machine.run(["systemctl", "reload", "genvd"]).status, 0)
        self.assertRegex(scenario.machine.unit("StatusText"), r"test\.conf:3: ")
        told = await_that("what is said of the mistake", lambda: [
            record["MESSAGE"] for record in scenario.machine.journal("--unit=genvd", "--priority=warning")
            if "test.conf" in str(record["MESSAGE"])])
        self.assertRegex(told[-1], r"test\.conf:3.*\(by root \(0\)\)$")
        self.assertEqual([record["MESSAGE"] for record in scenario.machine.journal("--unit=genvd")
                          if "Nonsense" in str(record["MESSAGE"])], told)
        scenario.machine.write("/etc/genv/genvd.conf.d/test.conf", "[Limits]\nMaxDevicesPerUser=7\n")
        scenario.machine.must(["systemctl", "reload", "genvd"])
        self.assertNotIn("test.conf", scenario.machine.unit("StatusText"))
        self.assertRegex(scenario.machine.must(["genvctl", "limits", "carol"]), r"MaxDevicesPerUser +7 ")
        self.assertEqual(scenario.machine.unit("MainPID"), self.pid)
        self.assert_kept()

    def test_polkit_restarts(self):
        scenario.machine.restart_polkit()
        self.ok(self.shell("carol").run("genvctl run --gpus 0 -- true"))
        scenario.machine.must(["systemctl", "kill", "--signal=KILL", "polkit"])
        self.ok(self.shell("carol").run("genvctl run --gpus 0 -- true"))
        self.assertEqual(scenario.machine.unit("MainPID"), self.pid)
        self.assert_kept()


class Watchdog(Held):
    def setUp(self):
        machine = scenario.machine
        machine.write("/etc/systemd/system/genvd.service.d/watchdog.conf", "[Service]\nWatchdogSec=3s\n")
        self.addCleanup(machine.must, "rm /etc/systemd/system/genvd.service.d/watchdog.conf && systemctl daemon-reload && "
                                      "systemctl restart genvd")
        machine.must("systemctl daemon-reload && systemctl restart genvd")
        super().setUp()

    def test_a_service_that_hangs_is_replaced(self):
        scenario.machine.must(["kill", "-STOP", self.pid])
        self.await_another()
        said = [record["MESSAGE"] for record in scenario.machine.journal("UNIT=genvd.service", "_PID=1")]
        self.assertTrue(any("Watchdog timeout" in line for line in said), said)
        self.assert_kept()


class Bus(MachineTest):
    def test_a_reload_of_the_bus_changes_nothing(self):
        machine = scenario.machine
        holder = self.hold("alice")
        pid = machine.unit("MainPID")
        machine.must(["systemctl", "reload", "dbus"])
        self.assertEqual(len(self.held()), 1)
        self.assertEqual(machine.unit("MainPID"), pid)
        self.assertEqual(holder.finish()[0], 0)

    def test_the_service_comes_back_with_the_bus(self):
        """All processes on the bus end with it, but users keep their devices and their places in the queue."""
        machine = scenario.machine
        keeper = Background(self, "echo $$; exec cat")
        pid = int(keeper.line())
        machine.must(["busctl", "call", "dev.genv.Manager", "/dev/genv/Manager", "dev.genv.Manager", "Activate", "a{sv}", "3",
                      "pid", "u", str(pid), "gpus", "u", "1", "id", "s", "kept"])
        waiter = Background(self, ["setpriv", "--reuid=bob", "--regid=bob", "--init-groups", "genvctl", "run", "--gpus", "4",
                                   "--wait", "--", "echo", "mine"])
        await_that("bob in the queue", lambda: self.queue() == ["bob"])
        before = machine.unit("MainPID")
        bus = "dbus-broker" if machine.must(["systemctl", "show", "--property=Id", "dbus.service"]) == "Id=dbus-broker.service\n" \
            else "dbus"
        machine.must(["systemctl", "restart", f"{bus}.service"])
        # logind 257 does not reconnect to the bus by itself, and without it no user can log in.
        machine.must(["systemctl", "restart", "systemd-logind.service"])
        await_that("another process of the service", lambda: machine.unit("MainPID") not in ("0", before))
        await_that("its answer", lambda: machine.run(["genvctl", "devices"]).status == 0)
        self.assertEqual(self.held(), ["kept"])
        await_that("bob in the queue again", lambda: self.queue() == ["bob"])
        keeper.finish()
        self.assertEqual(waiter.finish()[:2], (0, "mine\n"))
        await_that("the environment's end", lambda: self.held() == [])


class Reboot(MachineTest):
    def test_nothing_is_held_after_a_reboot_and_the_history_is_there(self):
        machine, since = scenario.machine, self.since_now()
        holder = self.hold("alice", "--gpus 2 --name before")
        [eid] = self.held()
        await_that("use to record", lambda: self.used_by("alice") > 0.1)
        used = self.used_by("alice")
        machine.reboot()
        holder.process.kill()
        self.assertEqual(machine.run(["ls", "/run/genv/environments"]).out, "")
        self.assertEqual((self.json("envs"), self.held(), self.queue()), ([], [], []))
        self.assertGreater(self.used_by("alice"), used * 0.99)
        shell = self.shell("bob")
        self.assertEqual(self.ok(shell.run("genvctl run --gpus 2 -- printenv CUDA_VISIBLE_DEVICES")), "0,1\n")
        told = [(event["environment"], event["user"]) for event in self.lines("history", since, "--kind", "attached")]
        self.assertEqual(told.count((eid, "alice")), 2)
