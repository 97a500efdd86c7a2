# SPDX-License-Identifier: LGPL-2.1-or-later
"""The records of events: the journal of a real unit, the history, notifications, metrics; and Python."""

import json

import scenario
from scenario import MachineTest, await_that

ATTACHED = "abbad66f316f4f20bd8708fc8c055508"
# Run as alice: a desktop's notification server that prints each notification.
DESKTOP = """
from jeepney import HeaderFields, MatchRule, MessageType, new_method_return, message_bus
from jeepney.io.blocking import open_dbus_connection
answers = {"Notify": ("u", (1,)), "GetCapabilities": ("as", (["body"],)),
           "GetServerInformation": ("ssss", ("a", "b", "1", "1.2"))}
with open_dbus_connection("SESSION") as bus:
    bus.send_and_get_reply(message_bus.RequestName("org.freedesktop.Notifications"))
    print("ready", flush=True)
    while True:
        message = bus.receive()
        member = message.header.fields.get(HeaderFields.member)
        if message.header.message_type == MessageType.method_call and member in answers:
            bus.send(new_method_return(message, *answers[member]))
            if member == "Notify":
                print(message.body[3], flush=True)
"""
PYTHON = """
import genv
with genv.sdk.activate(config=genv.Env.Config(name="python", gpus=2)):
    print(genv.sdk.eid(), list(genv.sdk.attached()))
"""


class Records(MachineTest):
    def attach_once(self):
        """Returns the id of an environment of alice's that has had a GPU."""
        out = self.ok(self.shell("alice").run("genvctl run --gpus 1 -- printenv GENV_ENVIRONMENT_ID"))
        return out.strip()

    def test_the_journal_of_the_unit_has_the_records(self):
        eid = self.attach_once()
        records = await_that("the record", lambda: scenario.machine.journal(
            "--unit=genvd", f"MESSAGE_ID={ATTACHED}", f"GENV_ENVIRONMENT={eid}"))
        [record] = records
        expected = {"GENV_EVENT": "attached", "GENV_USER": "alice", "GENV_UID": "1001", "GENV_DEVICE": "0",
                    "GENV_CALLER_USER": "alice", "_UID": "0", "_SYSTEMD_UNIT": "genvd.service"}
        self.assertEqual({key: record.get(key) for key in expected}, expected)

    def test_the_catalog_explains_it(self):
        eid = self.attach_once()
        explained = await_that("the record", lambda: scenario.machine.must(
            ["journalctl", "--quiet", "--boot", "--catalog", "--no-pager", f"MESSAGE_ID={ATTACHED}", f"GENV_ENVIRONMENT={eid}"]))
        self.assertIn(f"Subject: GPU 0 was attached to environment {eid} of alice\n", explained)
        self.assertIn("Documentation: man:genvd(8)\n", explained)

    def test_everybody_reads_their_own_history_and_root_all_of_it(self):
        since, eid = self.since_now(), self.attach_once()
        alice, bob = self.shell("alice"), self.shell("bob")

        def seen(shell):
            lines = self.ok(shell.run(f"genvctl history {since} --json=short")).splitlines()
            return [json.loads(line)["event"] for line in lines if json.loads(line).get("environment") == eid]
        expected = ["environment-started", "attached", "detached", "environment-ended"]
        await_that("alice's history", lambda: seen(alice) == expected)
        self.assertEqual(seen(bob), [])
        self.refused(bob.run("genvctl --no-ask-password history --user alice"), 4, "")
        self.assertEqual([event["event"] for event in self.lines("history", since) if event.get("environment") == eid], expected)
        report = scenario.machine.must(["genvctl", "report", "--by", "user", "--format", "csv"])
        self.assertRegex(report, r"(?m)^user,alice,1001,")


class Told(MachineTest):
    def setUp(self):
        super().setUp()
        self.alice = self.shell("alice")
        self.ok(self.alice.run("genv activate --gpus 1"))
        self.eid = self.alice.variable("GENV_ENVIRONMENT_ID")

    def detach(self):
        scenario.machine.must(["genvctl", "devices", "detach", "--eid", self.eid, "--index", "0"])

    def test_on_a_terminal(self):
        # On a terminal, since a pipe would buffer the lines.
        terminal = scenario.machine.ssh_terminal("alice", "genv-notify --terminal")
        self.addCleanup(terminal.end)
        await_that("the agent on the bus", lambda: "genv-notify" in scenario.machine.must(["busctl", "list", "--no-pager"]))
        self.detach()
        self.assertIn("GPU 0 was taken away", terminal.expect(rb"GPU 0 was taken away"))

    def test_in_the_session_by_the_users_own_unit(self):
        desktop = self.background("alice", f"python3 -u -c '{DESKTOP}'")
        self.assertEqual(desktop.line(), "ready\n")
        self.ok(self.alice.run("systemctl --user start genv-notify.service"))
        # The service starts with a session of alice's and ends with it.
        self.assertEqual(self.ok(self.alice.run("systemctl --user is-active genv-notify.service")), "active\n")
        self.detach()
        self.assertEqual(desktop.line(), "GPU 0 was taken away\n")
        self.ok(self.alice.run("systemctl --user stop genv-notify.service"))


class Metrics(MachineTest):
    def test_the_exporters_unit_serves_what_the_service_knows(self):
        machine = scenario.machine
        machine.must(["systemctl", "start", "genv-monitor"])
        self.addCleanup(machine.must, ["systemctl", "stop", "genv-monitor"])
        self.hold("alice", "--gpus 2")
        text = await_that("the metrics", lambda: machine.run(
            ["curl", "--silent", "--fail", "http://localhost:14368/metrics"]).out)
        self.assertRegex(text, r"(?m)^genv_up(\{[^}]*\})? 1$")
        self.assertRegex(text, r"(?m)^genv_attached_devices_total(\{[^}]*\})? 2$")
        self.assertNotEqual(machine.must(["ps", "-o", "user:20=", "-p", machine.unit("MainPID", name="genv-monitor")]).strip(),
                            "root")


class Python(MachineTest):
    def test_the_package_of_the_systems_python(self):
        done = self.shell("alice").run(f"python3 -c '{PYTHON}'")
        self.assertRegex(self.ok(done), r"^\d+ \[0, 1\]\n$")
