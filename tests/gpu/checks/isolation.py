# SPDX-License-Identifier: LGPL-2.1-or-later
"""the kernel refuses GPUs to users without a grant; attached to the kit's control group only"""

import contextlib
import os
import statistics
import subprocess
import time

from case import GpuTest, Kit
from service import ISOLATION, PACE, VARIABLES, until

CONFIGURATION = PACE + "[Isolation]\nIsolation=user\n"
OPENS = 2000
# Opens a path, and prints whether the kernel refused it. Another failure is that of a node without a driver.
OPENER = """
import os, sys
try:
    os.open(sys.argv[1], os.O_RDWR)
    print("passed")
except OSError as error:
    print("refused" if isinstance(error, PermissionError) else "passed")
"""
# Passes a descriptor of a path to a process of another user, who tells whether it works.
PASSER = """
import os, socket, sys
path, server = sys.argv[1:]
listening = socket.socket(socket.AF_UNIX)
listening.bind(server)
os.chmod(server, 0o777)
listening.listen()
print("listening", flush=True)
connection, _ = listening.accept()
socket.send_fds(connection, [b"x"], [os.open(path, os.O_RDWR)])
connection.recv(1)
"""
RECEIVER = """
import os, socket, sys
connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
_, (descriptor,), _, _ = socket.recv_fds(connection, 1, 1)
print("received", os.readlink(f"/proc/self/fd/{descriptor}"))
"""


def open_cost(path):
    """Returns the median microseconds of an open and close."""
    blocks = []
    for _ in range(5):
        began = time.perf_counter()
        for _ in range(OPENS // 5):
            with contextlib.suppress(OSError):
                os.close(os.open(path, os.O_RDWR))
        blocks.append((time.perf_counter() - began) / (OPENS // 5) * 1e6)
    return statistics.median(blocks)


MEASURE = f"""
import sys
sys.path[:0] = ["/kit", "/kit/checks"]
from isolation import open_cost
print(open_cost(sys.argv[1]))
"""


class Isolation(GpuTest):
    acts_on_processes = True  # isolation requires the rule env-devices

    def setUp(self):
        super().setUp()
        if not Kit.pen.group:
            self.skipTest(Kit.pen.absence)
        if not os.path.ismount("/sys/fs/bpf"):
            self.skipTest("the kernel has no BPF file system")
        self.node = f"/dev/nvidia{self.gpu['minor']}"
        if not os.path.exists(self.node):
            self.skipTest(f"there is no {self.node}")
        self.before = self.cost(self.root, self.node)
        with open("/etc/genv/genvd.conf", "w", encoding="utf-8") as file:
            file.write(CONFIGURATION)
        # The gate is attached to this group. It cannot reach a process outside it.
        self.assertTrue(os.path.exists(f"{Kit.pen.group}/cgroup.events"))
        loaded = self.loader("--control-group", Kit.pen.group)
        if loaded.returncode:
            self.skipTest(loaded.stderr.strip() or "genv-isolation failed")
        self.addCleanup(self.loader, "--remove")
        self.service.configure(CONFIGURATION)
        until(lambda: self.service.json("isolation", "status")["mode"] == "user", "isolation is in force")

    def loader(self, *options):
        return self.root.run(ISOLATION, *options, variables=VARIABLES)

    def cost(self, person, path):
        done = person.run("/usr/bin/python3", "-B", "-c", MEASURE, path)
        self.assertEqual(done.returncode, 0, done.stderr)
        return float(done.stdout)

    def opens(self, person, path):
        return person.run("/usr/bin/python3", "-c", OPENER, path).stdout.strip()

    def fails_without_grant(self, *prefix):
        """Asserts that CUDA finds no device for bob, and returns its message."""
        done = self.bob.run(*prefix, "cuda-holder", "100", "0", variables={"CUDA_VISIBLE_DEVICES": self.uuid})
        self.assertEqual(done.returncode, 1, done.stdout)
        return done.stdout.strip()

    def test_without_grant(self):
        """Without a grant, CUDA finds no GPU and the node cannot be opened"""
        self.assertEqual(self.opens(self.bob, self.node), "refused")
        self.saw(self.fails_without_grant())

    def test_with_grant(self):
        """With a grant, CUDA works; afterwards the node is closed again"""
        program, _ = self.hold(self.alice, 200, 2)
        self.assertEqual(self.opens(self.alice, self.node), "passed")
        self.assertEqual(self.opens(self.bob, self.node), "refused")
        self.assertEqual(program.wait(), 0, program.output)
        until(lambda: self.opens(self.alice, self.node) == "refused", "the grant is withdrawn", 10)

    def test_tool(self):
        """nvidia-smi in an environment without a GPU does not fail by the gate"""
        self.need_tool("nvidia-smi")
        done = self.bob.run("genvctl", "run", "--gpus", "0", "--", "/usr/libexec/genv/shims/nvidia-smi")
        self.saw(f"exit status {done.returncode}: {(done.stdout + done.stderr).strip().splitlines()[0]}")
        self.assertIn("No devices were found", done.stdout + done.stderr)

    def test_user_namespace(self):
        """Root in a user namespace is refused"""
        if self.bob.run("unshare", "-Ur", "true").returncode:
            self.skipTest("this kernel permits no user namespaces to users")
        self.saw(self.fails_without_grant("unshare", "-Ur"))

    def test_descriptor(self):
        """A descriptor that a holder passes to bob works; his own open fails"""
        with contextlib.suppress(OSError):
            os.close(os.open(self.node, os.O_RDWR))
            self._pass_descriptor()
            return
        self.skipTest(f"no driver is behind {self.node}")

    def _pass_descriptor(self):
        server = f"/tmp/home/{self.alice.name}/socket"
        os.chmod(f"/tmp/home/{self.alice.name}", 0o755)
        passer = self.start(self.alice, "genvctl", "run", "--uuid", self.uuid, "--", "/usr/bin/python3", "-c", PASSER,
                            self.node, server)
        passer.await_text("listening")
        self.addCleanup(os.unlink, server)
        done = self.bob.run("/usr/bin/python3", "-c", RECEIVER, server)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("received", done.stdout)
        self.assertEqual(self.opens(self.bob, self.node), "refused")
        self.saw("as documented: no open descriptor is taken away")

    def test_kill(self):
        """The gate stays, and so does a grant, when genvd is killed"""
        self.hold(self.alice, 200, 30)
        self.service.kill_genvd()
        self.addCleanup(lambda: self.service.genvd.status() is None or self.service.start_genvd(guarded=True))
        self.assertEqual(self.opens(self.alice, self.node), "passed")
        self.assertEqual(self.opens(self.bob, self.node), "refused")
        self.service.start_genvd(guarded=True)
        self.assertEqual(self.opens(self.alice, self.node), "passed")
        self.assertEqual(self.opens(self.bob, self.node), "refused")

    def test_outside(self):
        """A process outside the kit's control group is not affected"""
        # This process runs as root, which passes every gate; so a child does it as bob, without entering the group.
        done = subprocess.run(["setpriv", "--reuid", str(self.bob.uid), "--regid", str(self.bob.uid), "--clear-groups",
                               "/usr/bin/python3", "-c", OPENER, self.node], capture_output=True, text=True, check=True)
        self.assertNotEqual(done.stdout.strip(), "refused")

    def test_cost(self):
        """An open of the GPU's node takes this long"""
        self.hold(self.alice, 100, 30)
        after = self.cost(self.alice, self.node)
        self.saw(f"{self.before:.1f} µs without, {after:.1f} µs with the gate")
