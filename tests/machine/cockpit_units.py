# SPDX-License-Identifier: LGPL-2.1-or-later
"""The units by which the page of Cockpit keeps environments, under a real systemd of a user. The commands are those of
the page's own module, client/cockpit/starting.js."""

import json
import os
import shlex
import subprocess

import scenario
from machine import SOURCE
from scenario import MachineTest, await_that

WISH = {"name": "", "gpus": 1, "model": "", "memory": "", "lifetime": "", "wait": "", "share": False}
LINGER = "busctl call org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager SetUserLinger ubb"
# The name is an argument of a unit, in which systemd expands variables and specifiers.
NAME = "a $HOME ${USER} %h $$ name"


def page(function, *arguments):
    """Returns the result of a function of the page's module, by node."""
    module = "file://" + os.path.join(SOURCE, "client", "cockpit", "starting.js")
    script = f"import {{{function}}} from {json.dumps(module)}; console.log(JSON.stringify({function}(...JSON.parse(process.argv[1]))))"
    done = subprocess.run(["node", "--input-type=module", "--eval", script, json.dumps(arguments)], check=True, capture_output=True)
    return json.loads(done.stdout)


class CockpitUnits(MachineTest):
    unit = "genv-cockpit-test"
    errors = f"/run/user/1001/{unit}.log"

    def setUp(self):
        super().setUp()
        self.addCleanup(scenario.machine.must, ["loginctl", "disable-linger", "alice"])
        self.addCleanup(self.systemctl, "stop", "genv-cockpit-*")

    def systemctl(self, *words):
        """Runs systemctl --user of alice without a login."""
        return scenario.machine.as_user("alice", shlex.join(["env", "XDG_RUNTIME_DIR=/run/user/1001", "systemctl", "--user", *words]))

    def active(self, unit=unit):
        return self.systemctl("is-active", f"{unit}.service").out.strip()

    def start(self, **wish):
        """Starts an environment as the page does, from a login of its own, which ends with the returned process."""
        return self.background("alice", shlex.join(page("startCommand", self.unit, self.errors, {**WISH, **wish})))

    def linger(self):
        """Turns on lingering as the page does: as the user, without a password."""
        self.ok(self.shell("alice").run(f"{LINGER} 1001 true false"))

    @staticmethod
    def log_out(process):
        """Ends the login of a process, and waits until alice is not logged in any more."""
        process.process.kill()

        def is_login(session):
            # Since systemd 256, a user's manager has a session as well, of another class.
            return scenario.machine.run(["loginctl", "show-session", session, "--property=Class", "--value"]).out.strip() == "user"

        def is_out():
            # The columns begin with the session, the uid and the user. Without sessions, systemd 257 prints no JSON.
            sessions = scenario.machine.must(["loginctl", "list-sessions", "--no-legend"]).splitlines()
            hers = [words[0] for words in map(str.split, sessions) if words[2:3] == ["alice"] and is_login(words[0])]
            for session in hers:
                scenario.machine.run(["loginctl", "terminate-session", session])
            return not hers
        await_that("the end of alice's logins", is_out)

    def test_an_environment_outlives_the_login_and_ends_with_the_page(self):
        self.linger()
        process = self.start(name=NAME, gpus=2)
        await_that("the environment", lambda: len(self.held()) == 1)
        [eid] = self.held()
        [environment] = self.json("envs")
        self.assertEqual((environment["name"], environment["user"]), (NAME, "alice"))
        self.log_out(process)
        self.assertEqual(self.holders(), {0: [eid], 1: [eid], 2: [], 3: []})
        self.assertEqual(self.active(), "active")
        shown = self.systemctl("show", "--property=Type,Description", f"{self.unit}.service").out
        self.assertEqual(sorted(shown.splitlines()), ["Description=genv, from Cockpit", "Type=exec"])
        # The page of another login calls Deactivate, as this command does.
        self.ok(self.shell("alice").run(f"genvctl deactivate --id {eid}"))
        await_that("free GPUs", lambda: self.held() == [])
        # --collect leaves no unit, whatever its exit status.
        await_that("the end of the unit", lambda: "not-found" in self.systemctl("show", "--property=LoadState", f"{self.unit}.service").out)

    def test_the_end_of_the_unit_ends_the_environment(self):
        self.linger()
        self.start()
        await_that("the environment", lambda: len(self.held()) == 1)
        self.assertEqual(self.systemctl("stop", f"{self.unit}.service").status, 0)
        await_that("free GPUs", lambda: self.held() == [])

    def test_without_lingering_it_ends_with_the_last_login(self):
        process = self.start()
        await_that("the environment", lambda: len(self.held()) == 1)
        self.log_out(process)
        await_that("free GPUs", lambda: self.held() == [])

    def test_the_reason_of_a_failure_is_in_the_file_that_the_page_reads(self):
        process = self.start(gpus=5)
        self.assertEqual(process.finish()[0], 5)
        text = scenario.machine.must(["cat", self.errors])
        self.assertRegex(page("complaint", text), r"^Requested more devices \(5\) than total available \(4\)")
        self.assertNotEqual(self.active(), "failed")

    def test_a_request_for_an_environment_waits_as_a_unit(self):
        self.linger()
        holder = self.hold("bob", "--gpus 4")
        self.start(gpus=0, name="grows")
        [environment] = await_that("the environment", lambda: [each for each in self.json("envs") if each["name"] == "grows"])
        waiting = self.background("alice", shlex.join(page(
            "waitCommand", f"{self.unit}-wait", f"{self.errors}-wait", environment["id"],
            {"count": 1, "model": "", "lifetime": "", "wait": "3600s"})))
        await_that("the request", lambda: self.queue() == ["alice"])
        self.log_out(waiting)
        self.assertEqual((self.queue(), self.active(f"{self.unit}-wait")), (["alice"], "active"))
        holder.finish()
        await_that("a GPU", lambda: self.held() == [environment["id"]])
        await_that("the end of the unit", lambda: self.active(f"{self.unit}-wait") == "inactive")
        self.assertEqual(self.held(), [environment["id"]])
