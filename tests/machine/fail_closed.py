# SPDX-License-Identifier: LGPL-2.1-or-later
"""A machine that lets nobody in without isolation, through mistakes, an upgrade, reboots and the removal."""

import json

import ways_in
from isolation import LOADER, NODES, Isolated
from scenario import MachineTest, await_that
from upgrade import next_packages, version

GATE = "genv-isolation-required.service"
LOGINS = "systemd-user-sessions.service"
UNITS = (LOGINS, "cron.service", "atd.service")
MISTAKE_FILE = "/etc/genv/genvd.conf.d/zz-mistake.conf"
ELSEWHERE = "[Limits]\nMaxDevices=2\n"
OF_ISOLATION = "[Isolation]\nIsolation=users\n"
DROP_IN = "/etc/systemd/system/cron.service.d/test-isolation.conf"


class FailClosed(Isolated):
    def setUp(self):
        super().setUp()
        self.machine.must(["systemctl", "enable", "--now", GATE])
        self.addCleanup(self.machine.run, ["systemctl", "disable", GATE])
        self.addCleanup(self.machine.run, ["rm", "-f", MISTAKE_FILE])

    def logs_in(self, user):
        return self.machine.run(["ssh", "-T", f"{user}@localhost", "true"]).status == 0

    def states(self):
        return [self.machine.unit("ActiveState", name=unit) for unit in UNITS]

    def assert_lets_users_in(self):
        self.assertTrue(self.logs_in("alice"))
        self.assertEqual(self.states(), ["active"] * len(UNITS))

    def doctor(self):
        [check] = json.loads(self.machine.run(["genvctl", "doctor", "isolation", "--json"]).out)
        return check["verdict"], check["found"]

    def mistake(self, text):
        """Makes a mistake and restarts the loader. Returns whether that succeeds."""
        self.machine.write(MISTAKE_FILE, text)
        return self.machine.run(["systemctl", "restart", LOADER]).status == 0

    def test_nothing_after_the_boot_keeps_anybody_out(self):
        for text, succeeds in ((ELSEWHERE, True), (OF_ISOLATION, False)):
            self.assertEqual(self.mistake(text), succeeds, text)
            self.assert_lets_users_in()
            self.assert_stranger()
        done = self.machine.install(next_packages(f"{version()}+mistake"))
        self.assertEqual(done.status, 0, done)
        self.assert_lets_users_in()
        self.assert_stranger()
        self.assertEqual(self.doctor()[0], "problem")
        for verb in ("stop", "restart"):
            self.assertNotEqual(self.machine.run(["systemctl", verb, GATE]).status, 0)
        self.machine.must(["systemctl", "stop", LOADER])
        self.assert_lets_users_in()
        self.machine.must(["rm", MISTAKE_FILE])
        self.machine.must(["systemctl", "restart", LOADER, "genvd"])
        self.assertEqual(self.doctor()[0], "ok")

    def test_a_boot_without_isolation_lets_only_root_in(self):
        self.mistake(ELSEWHERE)
        self.machine.reboot()
        self.assert_lets_users_in()
        self.mistake(OF_ISOLATION)
        self.machine.reboot()
        ways_in.prepare(NODES)  # the nodes disappeared with the machine's /dev
        self.assertFalse(self.logs_in("alice"))
        self.assertTrue(self.logs_in("root"))
        self.assertEqual(self.states(), ["inactive"] * len(UNITS))
        verdict, found = self.doctor()
        self.assertEqual(verdict, "problem")
        self.assertRegex(found, rf"^genv-isolation.service has failed: .*; .*{LOGINS}.* do not run, because they require "
                                "isolation$")
        # Users stay out until they are let in, also when the file is right again.
        self.machine.must(["rm", MISTAKE_FILE])
        self.machine.must(["systemctl", "restart", LOADER])
        self.machine.must(["systemctl", "restart", "genvd"])
        verdict, found = self.doctor()
        self.assertEqual(verdict, "problem")
        self.assertRegex(found, rf"{LOGINS}.* do not run, because they require isolation$")
        self.assertFalse(self.logs_in("alice"))
        self.machine.must(["systemctl", "start", "multi-user.target"])
        self.assert_lets_users_in()
        self.assert_in_force("user")
        self.assert_stranger()
        self.assertEqual(self.doctor()[0], "ok")

    def test_an_administrator_lets_users_in_without_isolation(self):
        self.mistake(OF_ISOLATION)
        self.machine.reboot()
        self.assertFalse(self.logs_in("alice"))
        self.machine.must(f"systemctl disable {GATE} && systemctl start multi-user.target")
        self.assert_lets_users_in()

    def test_the_removal_and_the_boot_after_it_keep_nobody_out(self):
        self.remove("remove")
        self.assert_lets_users_in()
        self.machine.must(["systemctl", "restart", "cron"])
        self.machine.reboot()
        self.assert_lets_users_in()
        MachineTest.setUp(self)  # installs them again

    def test_the_doctor_warns_of_units_that_stop_with_the_loader(self):
        self.machine.write(DROP_IN, f"[Unit]\nRequires={LOADER}\nAfter={LOADER}\n")
        self.machine.must(["systemctl", "daemon-reload"])
        self.addCleanup(self.machine.must, ["systemctl", "restart", "cron"])
        self.addCleanup(self.machine.must, ["systemctl", "daemon-reload"])
        self.addCleanup(self.machine.must, ["rm", DROP_IN])
        self.assertEqual(self.doctor(), (
            "warning", "cron.service stops with genv-isolation.service, also when a restart of it fails"))
        self.assertFalse(self.mistake(OF_ISOLATION))
        self.machine.must(["rm", MISTAKE_FILE])
        await_that("the end of cron", lambda: self.machine.unit("ActiveState", name="cron.service") != "active")
        self.machine.must(["systemctl", "restart", LOADER])
        self.assertEqual(self.doctor(), ("problem", "cron.service does not run, because it requires isolation"))
