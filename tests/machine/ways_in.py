# SPDX-License-Identifier: LGPL-2.1-or-later
"""The ways to start programs on a machine. Each program opens device nodes and reports the results.

Everything runs in the control groups of the machine. The commands of Machine.run() are in none of them, so no program
that is attached there sees them.
"""

import os
import shlex
import shutil

import scenario
from machine import BUILD
from scenario import await_that

OPEN = "/usr/local/bin/open-nodes"
SETUID = "/usr/local/sbin/open-nodes"  # the same program, owned by root and with the setuid bit
FOLDER = "/opt/containers"  # a root for containers of each user, and for root's
# The options with which podman works in the container that is the machine: it may not mount a proc or a sysfs of its
# own, and its root is an overlay, on which there can be no other overlay.
PODMAN = ["podman", "--storage-driver=vfs", "--cgroup-manager=cgroupfs", "run", "--rm", "--pids-limit=0", "--net=host",
          "--ipc=host", "--uts=host", "--pid=host", "--security-opt=seccomp=unconfined", "--log-driver=none"]
ROOTFUL = ["podman", "--runtime=runc", *PODMAN[1:], "--ulimit=host"]
# As a uid of the user's block in /etc/subuid.
SUBORDINATE = ["unshare", "--user", "--map-auto", "--map-root-user", "setpriv", "--reuid=5", "--clear-groups"]
UIDS = {"alice": 1001, "bob": 1002}


def prepare(nodes):
    """Installs the program, the nodes and the containers' roots."""
    machine = scenario.machine
    program = os.path.join(BUILD, "tests", "machine", "open-nodes")
    for path, mode in ((OPEN, 0o755), (SETUID, 0o4755)):
        shutil.copy(program, machine.path(path))
        os.chmod(machine.path(path), mode)
    for node, (major, minor) in nodes.items():
        machine.must(["mknod", "--mode=666", node, "c", str(major), str(minor)])
    for user in ("root", *UIDS):
        machine.must(f"root={FOLDER}/{user} && mkdir -p $root/{{bin,dev,etc,proc,sys,tmp}} && cp {OPEN} $root/bin && "
                     f"chown -R {user}: $root")


def remove(nodes):
    """Removes everything that prepare() and podman have left."""
    left = ["/var/lib/containers", "/run/containers", "/etc/cni/net.d/cni.lock",
            *(f"/home/{user}/.local/share/containers" for user in UIDS)]
    scenario.machine.must(["rm", "-rf", "--one-file-system", OPEN, SETUID, FOLDER, *nodes, *left])
    # As a boot creates it.
    scenario.machine.must(["systemd-tmpfiles", "--create", "--boot", "--prefix=/var/lib/containers"])


def session(user, command):
    """Returns a command of a user who logs in over SSH."""
    return ["ssh", "-T", f"{user}@localhost", shlex.join(command)]


def unit(command, *properties):
    """Returns a command in a systemd unit, as root unless properties say otherwise."""
    return ["systemd-run", "--quiet", "--wait", "--pipe", "--collect", *(f"--property={each}" for each in properties),
            *command]


def container(program, root, nodes, *options):
    """Returns the command of a container that opens the nodes."""
    return [*program, *options, "--rootfs", f"{FOLDER}/{root}", "/bin/open-nodes", *nodes]


def of_user(user, nodes):
    """Maps a name to a command, for each way in which a user's own programs can run at once."""
    uid = UIDS[user]
    tries = [OPEN, *nodes]
    devices = [f"--device={node}" for node in nodes]
    return {
        "SSH": session(user, tries),
        "PAM session": unit(tries, f"User={user}", "PAMName=login"),
        "systemd --user": session(user, ["systemd-run", "--user", "--quiet", "--wait", "--pipe", "--collect", *tries]),
        "User= service": unit(tries, f"User={user}"),
        "su": unit(["su", user, "-c", shlex.join(tries)]),
        "setuid-root program": session(user, [SETUID, *nodes]),
        "user namespace, as root of it": session(user, ["unshare", "--user", "--map-root-user", *tries]),
        "user namespace, subordinate uid": session(user, [*SUBORDINATE, *tries]),
        "rootless podman": session(user, container(PODMAN, user, nodes, *devices)),
        "rootless podman, another uid": session(user, container(PODMAN, user, nodes, *devices, "--user=5:5")),
        "rootful podman as the user": unit(container(ROOTFUL, "root", nodes, *devices, f"--user={uid}")),
        "rootful podman --privileged as the user": unit(container(ROOTFUL, "root", nodes, "--privileged", f"--user={uid}")),
    }


def of_root(nodes):
    """Returns the same for root, and for users of services.

    Three ways do not exist for root: a setuid-root program changes nothing, /etc/subuid gives root no subordinate
    uids (of_nobody() has uids that root maps otherwise), and root's podman is never rootless."""
    tries = [OPEN, *nodes]
    devices = [f"--device={node}" for node in nodes]
    return {
        "root's service": unit(tries),
        "root over SSH": session("root", tries),
        "root's PAM session": unit(tries, "User=root", "PAMName=login"),
        "root's systemd --user": session("root", ["systemd-run", "--user", "--quiet", "--wait", "--pipe", "--collect", *tries]),
        "su to root": unit(["su", "root", "-c", shlex.join(tries)]),
        "root's user namespace": unit(["unshare", "--user", "--map-root-user", *tries]),
        "root's container": unit(container(ROOTFUL, "root", nodes, *devices)),
        "root's container --privileged": unit(container(ROOTFUL, "root", nodes, "--privileged")),
        "DynamicUser=": unit(tries, "DynamicUser=yes"),
        "a system user": unit(tries, "User=daemon"),
    }


def of_nobody(nodes):
    """Returns the same for uids without a user."""
    devices = [f"--device={node}" for node in nodes]
    foreign = ("--uidmap=0:500000:65536", "--gidmap=0:500000:65536")
    return {"root's container whose uids are mapped to nobody's": unit(container(ROOTFUL, "root", nodes, *devices, *foreign)),
            "a uid without a user": unit(["setpriv", "--reuid=77777", "--clear-groups", OPEN, *nodes])}


def sudo(user, nodes):
    """Returns a command that a logged-in administrator runs as another user; PASSWORD must be typed."""
    return session("admin", ["sudo", "--stdin", "--prompt=", f"--user={user}", OPEN, *nodes])


class Jobs:
    """Jobs of cron and at, which report to files. All are submitted first and collected later, since the time at which
    their daemons start them is unknown."""

    def __init__(self, nodes, users):
        self.reports = {}
        self.users = users
        machine = scenario.machine
        for user in users:
            for daemon in ("cron", "at"):
                report = f"/tmp/{daemon}-{user}"
                line = f"{shlex.join([OPEN, *nodes])} >{report}.new 2>&1; mv {report}.new {report}"
                if daemon == "cron":
                    machine.must(["crontab", "-u", user, "-"], f"@reboot {line}\n")
                else:
                    done = machine.as_user(user, ["at", "now"], line + "\n")
                    assert done.status == 0, done
                self.reports[user, daemon] = report
        # cron treats this as a boot of the machine.
        machine.must("rm -f /run/crond.reboot && systemctl restart cron")

    def ended(self, user, daemon):
        """Returns the results of the opens of a user's job."""
        report = self.reports[user, daemon]
        await_that(f"the end of {user}'s job of {daemon}",
                   lambda: scenario.machine.run(["test", "-e", report]).status == 0)
        return scenario.machine.must(["cat", report])

    def remove(self):
        for user in self.users:
            scenario.machine.run(["crontab", "-u", user, "-r"])
        scenario.machine.must(["rm", "-f", *self.reports.values()])
