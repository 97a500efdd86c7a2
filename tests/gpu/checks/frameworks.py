# SPDX-License-Identifier: LGPL-2.1-or-later
"""PyTorch and JAX of the machine, where they are installed"""

import glob

from case import GpuTest, Kit
from driver import HOST, resolve
from service import until

TREES = ("/usr/lib/python3*/dist-packages", "/usr/local/lib/python3*/dist-packages", "/usr/lib/python3*/site-packages",
         "/usr/local/lib/python3*/site-packages", "/opt/*/lib/python3*/site-packages", "/opt/*/.venv/lib/python3*/site-packages",
         "/root/*/lib/python3*/site-packages",
         "/home/*/*/lib/python3*/site-packages", "/opt/*/envs/*/lib/python3*/site-packages")
TORCH = """
import os, time, torch
device = torch.device("cuda:0")
x = torch.full((64, 1024, 1024), 7, dtype=torch.uint8, device=device)
total = int(x[::8, 0, 0].to(torch.int64).sum())
assert total == 7 * 8, total
print("ready", os.getpid(), torch.__version__, torch.cuda.device_count(), flush=True)
time.sleep(8)
"""
JAX = """
import os, time
os.environ["XLA_PYTHON_CLIENT_MEM_FRACTION"] = ".05"
import jax, jax.numpy as jnp
assert float((jnp.ones((512, 512)) @ jnp.ones((512, 512))).mean()) == 512.0
print("ready", os.getpid(), jax.__version__, len(jax.devices("gpu")), flush=True)
time.sleep(8)
"""


def interpreter_with(package):
    """Returns the machine's Python that has a package, as a path of the machine, or None."""
    for tree in TREES:
        for found in sorted(glob.glob(f"{HOST}{tree}/{package}")):
            prefix, _, rest = found[len(HOST):].rpartition("/lib/python3")
            for name in (f"python3{rest.split('/')[0]}", "python3"):
                if resolve(f"{prefix}/bin/{name}"):
                    return f"{prefix}/bin/{name}"
    return None


class Frameworks(GpuTest):
    def activated_variables_of(self, pid):
        variables = self.environment_of(pid)
        return variables if "GENV_ENVIRONMENT_ID" in variables else None

    def use(self, package, program):
        python = interpreter_with(package)
        if not python:
            self.skipTest(f"no Python of this machine has {package}")
        self.start(self.alice, "genvctl", "run", "--uuid", self.uuid, "--", "sleep", "120")
        (environment,) = until(self.service.environments, "the environment begins")
        # The machine's Python runs in the machine's own root, with the variables of alice's environment. The environment
        # begins a moment before its command.
        inside = until(lambda: self.activated_variables_of(environment["pids"][0]), "the command in the environment runs")
        variables = {**inside, "HOME": "/tmp", "LD_LIBRARY_PATH": Kit.driver.folder}
        command = self.start(self.root, "chroot", f"--userspec={self.alice.uid}:{self.alice.uid}", "--groups=", HOST, python,
                             "-c", program, variables=variables)
        pid, version, count = command.await_text(r"^ready (\d+) (\S+) (\d+)$", 120).groups()
        self.assertEqual(count, "1")
        memory = self.await_member(int(pid), environment["id"])
        self.saw(f"{package} {version}, {memory} MiB")

    def test_torch(self):
        """PyTorch in an environment sees one GPU and is attributed to it"""
        self.use("torch", TORCH)

    def test_jax(self):
        """JAX in an environment sees one GPU and is attributed to it"""
        self.use("jax", JAX)
