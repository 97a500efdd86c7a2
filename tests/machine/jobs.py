# SPDX-License-Identifier: LGPL-2.1-or-later
"""Jobs on a machine: their user submits a sweep over SSH and logs out, the machine reboots, and the user finds the
results."""

import scenario
from scenario import MachineTest, await_that

TASKS = 200
RESULTS = "/home/alice/results"


class Jobs(MachineTest):
    @staticmethod
    def results():
        done = scenario.machine.run(["cat", RESULTS])
        return done.out.split() if done.status == 0 else []

    @staticmethod
    def lingers():
        return scenario.machine.run(["test", "-e", "/var/lib/systemd/linger/alice"]).status == 0

    @staticmethod
    def has_session():
        # systemd 257 also lists the user's manager.
        sessions = scenario.machine.must(["loginctl", "list-sessions", "--no-legend"]).splitlines()
        return any("alice" in session and "manager" not in session for session in sessions)

    def test_a_sweep_goes_on_after_the_logout_and_a_reboot(self):
        self.addCleanup(scenario.machine.run, ["rm", "-rf", RESULTS, "/home/alice/.local/state/genv"])
        scenario.machine.run(["loginctl", "terminate-user", "alice"])  # of earlier tests
        await_that("the end of former sessions", lambda: not self.has_session())
        shell = scenario.machine.ssh("alice")
        done = shell.run(f"genvctl submit --retries 1 --array 1-{TASKS} -- sh -c 'sleep 0.1; echo {{}} >>{RESULTS}'")
        job = self.ok(done).strip()
        shell.close()
        await_that("the end of the session", lambda: not self.has_session())
        self.assertTrue(self.lingers())
        at_logout = len(self.results())
        await_that("jobs that go on", lambda: len(self.results()) > at_logout + 10)

        scenario.machine.reboot()
        after = len(self.results())
        self.assertLess(after, TASKS)
        await_that("jobs that start without a login", lambda: len(self.results()) > after)

        shell = self.shell("alice")
        self.assertEqual(shell.run(f"genvctl wait {job}").status, 0)
        self.assertIn(f"{TASKS}/{TASKS} done", self.ok(shell.run("genvctl jobs --all")))
        results = self.results()
        self.assertEqual(sorted(set(results), key=int), [str(number) for number in range(1, TASKS + 1)])
        # Only tasks that ran when the machine stopped ran again.
        self.assertLessEqual(len(results), TASKS + 4)
        await_that("a user who lingers no longer", lambda: not self.lingers())
        shell.close()
