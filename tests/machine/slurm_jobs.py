# SPDX-License-Identifier: LGPL-2.1-or-later
"""genv on a node of a real Slurm: the helper in its unit, jobs as environments, SSH into a job, idle jobs, extended
jobs, and the behaviour without genvd."""

import json
import re

from scenario import Background, await_that
from slurm_node import DEVICES, NODES, UUIDS, SlurmTest

# Opens Slurm's nodes and prints the results.
OPEN = f"for node in {NODES[2]} {NODES[3]}; do cat $node 2>&1 | sed 's/.*: //'; done"
MAY = "No such device or address\n"
MAY_NOT = "Operation not permitted\n"
IDLE = "[Enforcement]\nInterval=1s\nGrace=1s\n[User alice]\nIdleTimeout=1s\n[Slurm]\nIdleAction={}\n"
RULE = """
polkit.addRule(function(action, subject) {
    if (action.id == "dev.genv.manager.extend-job" && subject.user == "alice")
        return polkit.Result.YES;
});
"""


class Node(SlurmTest):
    def test_the_devices_that_the_configuration_names_are_reserved(self):
        self.assertEqual({device["index"]: device["reserved_for"] for device in self.json("devices")},
                         {0: None, 1: None, 2: "slurm", 3: "slurm"})
        self.assertEqual(self.machine.must(["cat", DEVICES]), f"0 {UUIDS[2]}\n1 {UUIDS[3]}\n")
        self.refused(self.machine.as_user("bob", "genvctl run --index 2 -- true"), 5, "Slurm")

    def doctor(self):
        """Returns the doctor's output without its line breaks."""
        return re.sub(r"\s+", " ", self.machine.run("genvctl doctor slurm").out)

    def test_the_doctor_misses_only_what_the_page_says_of_ssh(self):
        self.assertIn("warning slurm processes that come by SSH belong to no job Add", self.doctor())
        self.adopt()
        self.assertEqual(self.doctor(), "ok slurm 2 devices of this machine are Slurm's ")
        self.machine.write("/etc/pam.d/sshd", self.machine.read("/etc/pam.d/sshd") + "@include common-session\n")
        self.assertIn("warning slurm pam_systemd takes processes that come by SSH out of their job again In", self.doctor())

    def test_the_helper_is_as_closed_as_promised(self):
        self.machine.must(["systemd-analyze", "security", "--no-pager", "--threshold=25", "genv-slurm@test.service"])

    def scopes(self):
        """Returns how often systemd was asked to start the scope of the jobs."""
        self.machine.must(["journalctl", "--sync"])
        return len([record for record in self.machine.journal("_PID=1")
                    if re.match(r"Started .*slurmstepd\.scope", str(record["MESSAGE"]))])

    def test_a_node_whose_slurmd_has_not_run_since_the_boot(self):
        self.addCleanup(self.machine.must, ["systemctl", "start", "slurmd", "genvd"])
        self.machine.must("systemctl stop genvd slurmd '*slurmstepd.scope'")
        started = self.scopes()
        self.machine.must(["rm", DEVICES])
        self.machine.must(["systemctl", "start", "genvd"])
        # The options that "slurmd -G" needs differ between versions.
        await_that("an answer", lambda: "Slurm does not list its GPUs of this node" in self.log()
                   or self.machine.run(["test", "-e", DEVICES]).status == 0)
        if self.machine.run(["test", "-e", DEVICES]).status != 0:
            self.assertIn("genvd has not learned from Slurm which GPUs it has here", self.doctor())
        self.assertEqual(self.scopes(), started)  # only slurmd may start it
        self.machine.must(["systemctl", "start", "slurmd"])
        await_that("Slurm's devices", lambda: self.machine.run(["test", "-s", DEVICES]).status == 0)
        self.assertEqual(self.scopes(), started + 1)
        self.assert_not_drained()


class Jobs(SlurmTest):
    def test_a_job_is_an_environment_of_the_devices_that_slurm_gave_it(self):
        script = f"{{ printenv GENV_ENVIRONMENT_ID SLURM_JOB_GPUS; {OPEN}; }} >/tmp/new; mv /tmp/new /tmp/first; sleep infinity"
        first = self.started(script)
        self.assertEqual(self.report("first"), f"slurm-{first}\n0\n{MAY}{MAY_NOT}")
        second = self.started(script.replace("first", "second").replace("new", "newer"))
        self.assertEqual(self.report("second"), f"slurm-{second}\n1\n{MAY_NOT}{MAY}")
        shown = {str(job["job_id"]): job["gres_detail"] for job in json.loads(self.machine.must(["squeue", "--json"]))["jobs"]}
        self.assertEqual(shown, {first: ["gpu:1(IDX:0)"], second: ["gpu:1(IDX:1)"]})
        self.assertEqual((self.gpus(first), self.gpus(second)), ([2], [3]))
        self.assertEqual(self.environments()[f"slurm-{first}"]["user"], "alice")
        self.cancel(first)
        self.assertEqual((self.gpus(second), self.holders()[2]), ([3], []))
        self.cancel(second)

    def test_a_step_knows_its_environment_and_leaves_nothing(self):
        done = self.machine.as_user("alice", "cd / && srun --gres=gpu:2 sh -c '"
                                    "printenv GENV_ENVIRONMENT_ID; genvctl devices find --eid $GENV_ENVIRONMENT_ID; "
                                    "env -i /usr/bin/genvctl envs find --pid $$'")
        self.assertEqual(done.status, 0, done)
        job = re.match(r"slurm-(\d+)\n", done.out)[1]
        self.assertEqual(done.out, f"slurm-{job}\n2,3\nslurm-{job}\n")
        self.await_end(job)
        self.assert_not_drained()


class Adopted(SlurmTest):
    """pam_slurm_adopt."""

    def setUp(self):
        super().setUp()
        self.adopt()

    def test_who_has_a_job_comes_into_it(self):
        job = self.started("sleep infinity")
        shell = self.machine.ssh("alice")
        self.addCleanup(shell.close)
        self.assertEqual(self.ok(shell.run("env -i /usr/bin/genvctl envs find --pid $$")), f"slurm-{job}\n")
        self.assertEqual(shell.run(OPEN).out, MAY + MAY_NOT)
        pid = shell.run("env -i CUDA_VISIBLE_DEVICES=2 /usr/local/bin/gpu-work infinity & echo $!").out.strip()
        await_that("its process in a sample", lambda: f"slurm-{job}" in [
            process["eid"] for process in self.snapshot()["processes"]["processes"] if str(process["pid"]) == pid])
        self.cancel(job)
        await_that("the end of the shell", lambda: shell.process.poll() is not None)

    def test_who_has_none_is_refused(self):
        self.started("sleep infinity")
        done = self.machine.run(["ssh", "-T", "bob@localhost", "true"])
        self.assertEqual(done.status, 255, done)
        # Newer versions of OpenSSH have a separate program for each session.
        programs = ["SYSLOG_IDENTIFIER=sshd", "SYSLOG_IDENTIFIER=sshd-session"]
        await_that("PAM's word", lambda: [record for record in self.machine.journal(*programs) if
                                          "Access denied for user bob by PAM account configuration" in str(record["MESSAGE"])])


class Idle(SlurmTest):
    """IdleAction=, in parallel with a job that computes."""

    def start_both(self, action):
        """Starts a job that uses its GPU and one that does not."""
        working = self.started("env -i CUDA_VISIBLE_DEVICES=2 /usr/local/bin/gpu-work infinity")
        await_that("its process in a sample", lambda: self.snapshot()["processes"]["processes"])
        self.configure(IDLE.format(action))
        return working, self.started("sleep infinity")

    def tearDown(self):
        self.doCleanups()  # otherwise the rule would also see the end of the other job
        super().tearDown()

    def assert_works(self, job):
        self.assertEqual((self.job_state(job), self.gpus(job)), ("R", [2]))

    def test_a_warning(self):
        events = Background(self, "genvctl events --json=short >/tmp/events")
        self.addCleanup(self.machine.must, ["rm", "-f", "/tmp/events"])
        await_that("a listener", lambda: self.machine.must("genvctl run --gpus 0 true; cat /tmp/events"))
        working, idle = self.start_both("warn")

        def notices():
            told = [json.loads(line) for line in self.machine.must(["cat", "/tmp/events"]).splitlines()]
            return [event for event in told if event.get("notice") == "warning"]
        [notice, *_] = await_that("a notice", notices)
        self.assertEqual((notice["environment"], notice["details"]["rule"]), (f"slurm-{idle}", "idle-timeout"))
        self.assertEqual((self.job_state(idle), self.gpus(idle)), ("R", [3]))
        self.assert_works(working)
        events.process.kill()

    def test_a_cancelled_job(self):
        working, idle = self.start_both("cancel")
        self.await_end(idle)
        self.assertIn(f"Canceling Slurm job {idle} of user alice: it is idle", self.log())
        self.assertIn("JobState=CANCELLED", self.machine.must(["scontrol", "show", "job", idle]))
        self.assert_works(working)

    def test_a_requeued_job(self):
        working, idle = self.start_both("requeue")
        await_that("a job that waits", lambda: self.job_state(idle) == "PD")
        await_that("the end of its environment", lambda: f"slurm-{idle}" not in self.environments())
        self.assertIn(f"Requeueing Slurm job {idle} of user alice: it is idle", self.log())
        self.assert_works(working)


class Longer(SlurmTest):
    """Configure {lifetime} of a job."""

    def extend(self, job, time):
        return self.machine.as_user("alice", ["genvctl", "--no-ask-password", "extend", "--id", f"slurm-{job}", time])

    def test_a_user_needs_a_rule_and_stays_within_the_limit(self):
        job = self.started("sleep infinity", "--time=10")
        end = self.end_of(job)
        self.refused(self.extend(job, "2h"), 4, "dev.genv.manager.extend-job")
        self.assertEqual(self.end_of(job), end)
        self.rule(RULE)
        self.ok(self.extend(job, "2h"))
        # Slurm's limits are in minutes.
        extended = self.end_of(job)
        self.assertAlmostEqual(extended - end, 110 * 60, delta=5 * 60)
        self.configure("[User alice]\nMaxLifetime=3h\n")
        self.refused(self.extend(job, "5h"), 7, "MaxLifetime")
        self.assertEqual(self.end_of(job), extended)


class Without(SlurmTest):
    """genvd or slurmd is not running."""

    def test_jobs_begin_and_end_while_genvd_is_stopped(self):
        self.addCleanup(self.machine.must, ["systemctl", "start", "genvd"])
        self.addCleanup(self.machine.must, ["systemctl", "unmask", "--runtime", "genvd"])
        self.machine.must(["systemctl", "mask", "--runtime", "--now", "genvd"])
        done = self.machine.as_user("alice", "cd / && srun --gres=gpu:1 hostname")
        self.assertEqual((done.status, done.out), (0, "machine\n"), done)
        await_that("the end of the job", lambda: self.machine.must(["squeue", "--noheader"]) == "")
        self.assert_not_drained()
        self.assertTrue(self.machine.journal("SYSLOG_IDENTIFIER=genv-slurm"))

    def test_a_job_outlives_sigkill_of_genvd(self):
        job = self.started("until test -e /tmp/go; do sleep 0.1; done", "--time=10")
        before = self.environments()[f"slurm-{job}"]
        self.machine.must(["systemctl", "kill", "--signal=KILL", "--kill-whom=main", "genvd"])
        await_that("genvd", lambda: self.machine.unit("SubState") == "running")
        self.assertEqual((self.environments()[f"slurm-{job}"], self.gpus(job)), (before, [2]))
        self.addCleanup(self.machine.must, ["rm", "/tmp/go"])
        self.machine.must(["touch", "/tmp/go"])
        self.await_end(job)
        self.assertIn("JobState=COMPLETED", self.machine.must(["scontrol", "show", "job", job]))
        self.assertIn("ExitCode=0:0", self.machine.must(["scontrol", "show", "job", job]))
        self.assert_not_drained()

    def test_a_job_outlives_a_restart_of_slurmd(self):
        job = self.started("sleep infinity")
        before = self.environments()[f"slurm-{job}"]
        self.machine.must(["systemctl", "restart", "slurmd"])
        await_that("the node", lambda: self.node_state() == "mix")
        self.machine.must(["genvctl", "enforce", "--interval", "0"])
        self.assertEqual((self.job_state(job), self.environments()[f"slurm-{job}"], self.gpus(job)), ("R", before, [2]))
        self.cancel(job)
        self.assert_not_drained()
