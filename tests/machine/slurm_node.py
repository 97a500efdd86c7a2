# SPDX-License-Identifier: LGPL-2.1-or-later
"""A node of a cluster: Debian's slurmctld, slurmd and munge in their own units, set up as slurm.md tells the
administrator.

GPUs 2 and 3 of four are reserved for Slurm. Their device nodes have no driver: an open fails with ENXIO if it is
permitted, and with EPERM if the control group of a job forbids it."""

import os
import shutil

import scenario
from machine import BUILD, SOURCE
from scenario import MachineTest, await_that

UUIDS = [f"GPU-67656e76-0000-4000-8000-{number:012x}" for number in range(4)]
NODES = [f"/dev/nvidia{minor}" for minor in range(len(UUIDS))]
DEVICES = "/run/genv/slurm/devices"
PAGE = os.path.join(SOURCE, "data", "doc", "slurm.md")
# The part that the page leaves to the site.
CLUSTER = """\
ClusterName=machine
SlurmctldHost=machine
SlurmUser=slurm
StateSaveLocation=/var/lib/slurm/slurmctld
SlurmdSpoolDir=/var/lib/slurm/slurmd
SlurmctldLogFile=/var/log/slurm/slurmctld.log
SlurmdLogFile=/var/log/slurm/slurmd.log
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
ReturnToService=2
KillWait=2
SchedulerParameters=batch_sched_delay=0,sched_min_interval=1
SlurmdParameters=config_overrides
NodeName=machine CPUs=8 RealMemory=1000 Gres=gpu:2
PartitionName=gpus Nodes=ALL Default=YES State=UP MaxTime=INFINITE DefaultTime=10
"""
UNIT = f"""\
[Service]
Environment=GENV_MOCK_DEVICE_NODES={",".join(f"195:{minor}" for minor in range(len(UUIDS)))}
"""
SETTINGS = f"""\
[Slurm]
Devices={UUIDS[2]},{UUIDS[3]}
"""
# Debian's slurmd is an alternative. The program finds itself by the name under which it runs, which must be slurmd.
# Since 24.11 it runs itself for each hook by fexecve(3), which does not accept scripts.
PRELOAD = "/usr/local/lib/slurm_only_v2.so"
ONLY_V2 = "/usr/local/sbin/slurmd-only-v2"
SLURMD = "/usr/local/lib/slurm/slurmd"
WRAPPER = f"""\
#!/bin/bash
LD_PRELOAD={PRELOAD} exec {SLURMD} "$@"
"""


def told_by_page():
    """Returns the text that the page tells an administrator to write: lines of slurm.conf, gres.conf, cgroup.conf and
    /etc/pam.d/sshd."""
    with open(PAGE, encoding="utf-8") as file:
        blocks = [part.partition("```")[0] for part in file.read().split("```text\n")[1:]]
    return [[line.strip() for line in block.splitlines() if line.strip()] for block in blocks]


def show_version_2_alone(machine):
    """On a host whose kernel also has control groups v1, /proc/self/cgroup lists those in the machine, too, although
    only v2 is mounted there, and slurmd refuses them."""
    if len(machine.must(["cat", "/proc/self/cgroup"]).splitlines()) == 1:
        return
    shutil.copy(os.path.join(BUILD, "tests", "slurm", os.path.basename(PRELOAD)), machine.path(PRELOAD))
    machine.write(ONLY_V2, WRAPPER, 0o755)
    machine.must(["mkdir", "--parents", os.path.dirname(SLURMD)])
    machine.must(["ln", "--symbolic", "/usr/sbin/slurmd-wlm", SLURMD])
    machine.must(["update-alternatives", "--quiet", "--install", "/usr/sbin/slurmd", "slurmd", ONLY_V2, "1000",
                  "--slave", "/usr/sbin/slurmstepd", "slurmstepd", "/usr/sbin/slurmstepd-wlm"])


def prepare(machine):
    """Turns the machine, which has genv's packages, into a node with its controller."""
    # Slurm finds no network if there are only loopback addresses.
    machine.must(["ip", "address", "add", "192.0.2.9/32", "dev", "lo"])
    for minor, node in enumerate(NODES):
        machine.must(["mknod", "--mode=666", node, "c", "195", str(minor)])
    show_version_2_alone(machine)
    slurm, gres, cgroup = told_by_page()[:3]
    slurm = [line for line in slurm if not line.startswith("NodeName=")]
    machine.write("/etc/slurm/slurm.conf", CLUSTER + "\n".join(slurm) + "\n")
    machine.write("/etc/slurm/gres.conf", "\n".join(gres).replace("[0-3]", "[2-3]") + "\n")
    machine.write("/etc/slurm/cgroup.conf", "\n".join(cgroup) + "\n")
    machine.write("/etc/systemd/system/genvd.service.d/nodes.conf", UNIT)
    machine.write("/etc/genv/genvd.conf.d/slurm.conf", SETTINGS)
    machine.must(["cp", "/usr/bin/sleep", "/usr/local/bin/gpu-work"])
    machine.must(["systemctl", "daemon-reload"])
    machine.must(["systemctl", "start", "slurmctld", "slurmd"])
    machine.must(["systemctl", "restart", "genvd"])


class SlurmTest(MachineTest):
    """Runs on the node, without jobs at the start."""

    def setUp(self):
        super().setUp()
        self.machine = scenario.machine
        if self.machine.run(["test", "-e", "/etc/slurm/slurm.conf"]).status != 0:
            prepare(self.machine)
        await_that("Slurm's devices", lambda: self.machine.run(["test", "-s", DEVICES]).status == 0)
        await_that("an idle node", lambda: self.node_state() == "idle")

    def tearDown(self):
        self.machine.must("scancel --user=alice && scancel --user=bob")
        await_that("the end of all jobs", lambda: self.machine.must(["squeue", "--noheader"]) == "")
        super().tearDown()

    # Slurm

    def node_state(self):
        return self.machine.must(["sinfo", "--noheader", "--format=%t"]).strip()

    def assert_not_drained(self):
        await_that("an idle node", lambda: self.node_state() == "idle")
        self.assertEqual(self.machine.must(["sinfo", "--noheader", "--list-reasons"]), "")

    def submit(self, script, *options, user="alice"):
        """Submits a job with a GPU that runs a script, and returns its id."""
        done = self.machine.as_user(user, ["sbatch", "--parsable", "--output=/dev/null", "--chdir=/", "--gres=gpu:1", *options,
                                           f"--wrap={script}"])
        return self.ok(done).strip()

    def started(self, script, *options, user="alice"):
        """Submits a job, waits until it runs and has an environment, and returns its id."""
        job = self.submit(script, *options, user=user)
        await_that(f"job {job}", lambda: self.job_state(job) == "R")
        await_that(f"the environment of job {job}", lambda: f"slurm-{job}" in self.environments())
        return job

    def job_state(self, job):
        """Returns the state, such as R or PD; empty if Slurm no longer has the job."""
        return self.machine.run(["squeue", "--noheader", f"--jobs={job}", "--format=%t"]).out.strip()

    def end_of(self, job):
        """Returns the time when Slurm ends a job, in seconds since the epoch."""
        return int(self.machine.must(["env", "SLURM_TIME_FORMAT=%s", "squeue", "--noheader", f"--jobs={job}", "--format=%e"]))

    def cancel(self, job):
        self.machine.must(["scancel", job])
        self.await_end(job)

    def await_end(self, job):
        await_that(f"the end of job {job}", lambda: self.job_state(job) == "")
        await_that("the end of its environment", lambda: f"slurm-{job}" not in self.environments())

    # genv

    def environments(self):
        return {environment["id"]: environment for environment in self.json("envs")}

    def gpus(self, job):
        return [index for index, ids in self.holders().items() if f"slurm-{job}" in ids]

    def log(self):
        """Returns the log of the present genvd."""
        self.machine.must(["journalctl", "--sync"])
        identity = self.machine.unit("InvocationID")
        return "\n".join(str(record["MESSAGE"]) for record in self.machine.journal(f"_SYSTEMD_INVOCATION_ID={identity}"))

    def report(self, name):
        """Returns the text that a job wrote to a file of that name, once it is complete."""
        path = f"/tmp/{name}"
        self.addCleanup(self.machine.must, ["rm", "-f", path])
        await_that(path, lambda: self.machine.run(["test", "-e", path]).status == 0)
        return self.machine.must(["cat", path])

    def adopt(self):
        """Configures PAM as the page says, for this test."""
        kept = self.machine.read("/etc/pam.d/sshd")
        self.addCleanup(self.machine.write, "/etc/pam.d/sshd", kept)
        account, session = told_by_page()[3]
        text = kept.replace("@include common-account", f"@include common-account\n{account}")
        text = text.replace("@include common-session", session)
        self.assertEqual(text.count(account) + text.count(session), 2, text)
        self.machine.write("/etc/pam.d/sshd", text)
