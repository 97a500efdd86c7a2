# SPDX-License-Identifier: LGPL-2.1-or-later
"""Parking, with stand-ins for NVIDIA's libraries and for a program that uses them: genv-park.socket and
genv-park@.service, and two users who take turns on a GPU."""

import json
import sys
import time

from cuda_driver import FOLDER, CudaDriver, Program, is_built
from sandbox import USER_FILES, SandboxTest
from scenario import await_that

# It becomes another user only by setresuid(2), which the probe does not try.
PARK_CAN = USER_FILES | {"read /proc/PID/stat", "read /dev/null", "signal"}
# Sends a line to the socket as genvd does, and prints the answer.
CALLER = """
import socket, sys
connection = socket.socket(socket.AF_UNIX)
connection.connect("/run/genv-park/socket")
connection.sendall((sys.argv[1] + chr(10)).encode())
print(b"".join(iter(lambda: connection.recv(4096), b"")).decode(), end="")
"""


class DriverTest(SandboxTest):
    def setUp(self):
        super().setUp()
        if not is_built():
            self.skipTest("the stand-ins for NVIDIA's libraries are not built: ninja fake_cuda fake_nvml cuda_program")
        self.driver = CudaDriver(self.machine)
        self.addCleanup(self.driver.close)


class Parking(DriverTest):
    """The helper's units."""

    def start_program(self, *options):
        """Starts cuda-program as alice, and returns its PID."""
        self.machine.must(["setpriv", "--reuid=alice", "--regid=alice", "--init-groups", "env",
                           f"LD_LIBRARY_PATH={FOLDER}", "sh", "-c",
                           f"{FOLDER}/cuda-program {' '.join(options)} >/tmp/cuda-program 2>&1 &"])
        self.addCleanup(self.machine.must, ["rm", "/tmp/cuda-program"])
        await_that("the program's start", lambda: "ready" in self.output())
        pid = int(self.output().split()[1])
        self.addCleanup(self.machine.run, ["kill", "-9", str(pid)])
        return pid

    def output(self):
        return self.machine.run(["cat", "/tmp/cuda-program"]).out

    def call(self, name, pid, **more):
        """Returns the answer to a request of root's."""
        start = int(self.machine.must(["cat", f"/proc/{pid}/stat"]).rpartition(")")[2].split()[19])
        request = json.dumps({"call": name, "pid": pid, "start": start, "uid": 1001, **more})
        return json.loads(self.machine.must(["python3", "-c", CALLER, request]))

    def instances(self):
        told = self.machine.must(["systemctl", "list-units", "--all", "--no-legend", "--plain", "genv-park@*"])
        return [line.split()[0] for line in told.splitlines()]

    def test_it_parks_a_program_and_lets_it_go_on(self):
        pid = self.start_program()
        self.assertEqual(self.call("lock", pid, timeout=10000), {"state": "locked"})
        self.assertEqual(self.call("checkpoint", pid), {"state": "checkpointed"})
        self.assertEqual(self.machine.must(["ls", f"{FOLDER}/allocations"]), "")
        self.assertEqual(self.call("restore", pid), {"state": "locked"})
        self.assertEqual(self.call("unlock", pid), {"state": "running"})
        self.machine.must(["kill", "-USR1", str(pid)])
        await_that("its end with right results", lambda: "done" in self.output())
        await_that("the end of the helpers", lambda: self.instances() == [])
        self.assertEqual(self.machine.must(["systemctl", "--failed", "--no-legend"]), "")

    def test_a_call_that_hangs_ends_at_its_deadline(self):
        pid = self.start_program()
        command = next(line for line in self.unit_file("genv-park@.service").splitlines() if line.startswith("ExecStart="))
        # A later drop-in than that of setUp().
        self.machine.write("/etc/systemd/system/genv-park@.service.d/short.conf", f"[Service]\nExecStart=\n{command} --deadline=2\n")
        self.addCleanup(self.machine.must, ["systemctl", "daemon-reload"])
        self.addCleanup(self.machine.must, ["rm", "/etc/systemd/system/genv-park@.service.d/short.conf"])
        self.machine.must(["systemctl", "daemon-reload"])
        self.machine.write(f"{FOLDER}/cuda.json", json.dumps({"target": {"cuCheckpointProcessGetState": "hang"}}))
        self.assertEqual(self.call("state", pid), {"fault": "deadline", "code": 0})
        await_that("the end of the helper and its child", lambda: self.instances() == [])

    def test_one_that_cannot_fork_changes_nothing(self):
        pid = self.start_program()
        self.drop_in("genv-park@.service", "[Service]\nSystemCallFilter=~clone clone3 fork vfork\n")
        with self.assertRaises(json.JSONDecodeError):  # it ended without an answer
            self.call("lock", pid, timeout=10000)
        self.machine.write("/etc/systemd/system/genv-park@.service.d/sandbox-test.conf", "")
        self.machine.must(["systemctl", "daemon-reload"])
        self.assertEqual(self.call("state", pid), {"state": "running"})

    def test_nobody_but_root_reaches_the_socket(self):
        self.assertEqual(self.machine.unit("ActiveState", name="genv-park.socket"), "active")
        self.refused(self.machine.as_user("alice", ["sh", "-c", "ls /run/genv-park"]), 2, "Permission denied")

    def test_what_it_can_do_and_no_more(self):
        self.node()
        told = self.probe("genv-park@.service")
        self.assertEqual({name for name, how in told.items() if how == "done"}, PARK_CAN, told)
        for name in ("write /etc/x", "write /usr/x", "write /var/x", "write /run/x"):
            self.assertEqual(told[name], "EROFS", name)


class TakingTurns(DriverTest):
    """Installed packages, from one user's program to another's and back."""

    def typed(self, shell, user, command):
        """Runs a command that must succeed, and prints it as it looks to its user."""
        began = time.monotonic()
        done = shell.run(command)
        took = time.monotonic() - began
        sys.stderr.write(f"\n{user}$ {command}    # {took:.2f} s\n{done.out}{done.err}")
        self.assertEqual(done.status, 0, done)
        return done.out

    def test_one_parks_another_computes_and_the_first_goes_on(self):
        self.driver.serve()
        alice, bob = self.shell("alice"), self.shell("bob")
        self.typed(alice, "alice", "genv activate --gpus 1 --name training")
        training = Program(self, alice, "training", "--memory", "600")
        self.typed(bob, "bob", "genvctl devices")
        self.assertIn("is parked", self.typed(alice, "alice", "genvctl park"))
        self.assertIn("parked", self.typed(bob, "bob", "genvctl envs"))
        self.typed(bob, "bob", "genvctl devices")

        self.typed(bob, "bob", "genv activate --gpus 1")
        evaluation = Program(self, bob, "evaluation", "--memory", "900")
        self.refused(alice.run("genvctl resume"), 5, "bob holds it")
        for how in ("restart", "kill --signal=KILL"):  # systemd starts a killed one again
            before = self.machine.unit("MainPID")
            self.machine.must(["systemctl", *how.split(), "genvd"])
            await_that("another genvd", lambda before=before: self.machine.unit("MainPID") not in ("0", before))
            self.typed(alice, "alice", "genvctl status")
        self.assertTrue(evaluation.goes_on())

        with self.subTest("the removal of genv is refused"):
            # apt-get would remove the packages that depend on it first.
            removed = self.machine.run(["dpkg", "--force-depends", "--remove", "genv"])
            sys.stderr.write(f"\nroot# dpkg --remove genv\n{removed.out}{removed.err}")
            self.assertNotEqual(removed.status, 0)
            self.assertIn("of alice stays parked", removed.err)
            self.assertIn(f"{training.pid}", removed.err)
            self.assertIn("bob holds it", removed.err)
            self.assertEqual(self.machine.must(["dpkg", "--audit"]), "")
            self.assertIn("parked", self.typed(alice, "alice", "genvctl envs"))

        self.assertTrue(evaluation.ends_well())
        self.typed(bob, "bob", "genv deactivate")
        self.typed(alice, "alice", "genvctl resume")
        self.assertTrue(training.goes_on())
        self.assertTrue(training.ends_well())
        self.typed(alice, "alice", "genvctl history")
