# SPDX-License-Identifier: LGPL-2.1-or-later
"""Stand-ins for NVIDIA's libraries in the machine, and programs that use them."""

import json
import os

import scenario
from machine import BUILD, await_that

FAKES = os.path.join(BUILD, "tests", "fake_cuda")
FAKE_CUDA = os.path.join(FAKES, "current", "libcuda.so.1")
CUDA_PROGRAM = os.path.join(FAKES, "cuda-program")
FAKE_NVML = os.path.join(BUILD, "tests", "fake_nvml", "current", "libnvidia-ml.so.1")
FOLDER = "/usr/local/lib/fake-cuda"
PROGRAM = f"LD_LIBRARY_PATH={FOLDER} {FOLDER}/cuda-program"
DROP_INS = [f"/etc/systemd/system/{unit}.d/fake-cuda.conf" for unit in ("genv-park@.service", "genv-nvml@.service")]
CONFIGURATION = "/etc/genv/genvd.conf.d/z-fake-cuda.conf"


def is_built():
    return all(os.path.exists(name) for name in (FAKE_CUDA, CUDA_PROGRAM, FAKE_NVML))


class CudaDriver:
    """A driver with GPUs of 1 GiB, which genv's helpers load. With `nodes`, each GPU is /dev/nvidiaN."""

    def __init__(self, machine, gpus=1, nodes=False):
        self.machine = machine
        machine.must(["mkdir", "-p", f"{FOLDER}/allocations"])
        machine.must(["chmod", "1777", f"{FOLDER}/allocations"])
        for source in (FAKE_CUDA, CUDA_PROGRAM, FAKE_NVML):
            with open(source, "rb") as file, open(machine.path(f"{FOLDER}/{os.path.basename(source)}"), "wb") as copy:
                copy.write(file.read())
        machine.must(["chmod", "755", f"{FOLDER}/cuda-program"])
        devices = [{"uuid": f"GPU-{number}", "name": "NVIDIA A100", "persistence": True, "memory": {"total": 1 << 30, "used": 0},
                    **({"minor": number, "node": f"/dev/nvidia{number}"} if nodes else {})} for number in range(gpus)]
        machine.write(f"{FOLDER}/machine.json", json.dumps({"devices": devices}))
        for name in DROP_INS:
            machine.write(name, f"[Service]\nEnvironment=LD_LIBRARY_PATH={FOLDER}\n")
        machine.must(["systemctl", "daemon-reload"])

    def serve(self):
        """Lets genvd share these GPUs in place of simulated ones."""
        self.machine.write(CONFIGURATION, "[GPU]\nBackend=nvml\n")
        self.machine.must(["systemctl", "restart", "genvd"])

    def close(self):
        self.machine.must(["rm", "-rf", FOLDER, CONFIGURATION, *DROP_INS])
        self.machine.run(["rmdir", *(os.path.dirname(name) for name in DROP_INS)])
        self.machine.must(["systemctl", "daemon-reload"])
        self.machine.run(["systemctl", "try-restart", "genvd"])


class Program:
    """A program on the GPU that a user started in a shell."""

    def __init__(self, test, shell, name, *options):
        self.shell, self.name = shell, name
        shell.run(f"{PROGRAM} {' '.join(options)} --progress {name}.steps >{name}.out 2>&1 &")
        await_that(f"the start of {name}", lambda: "ready" in self.output())
        self.pid = int(self.output().split()[1])
        test.addCleanup(scenario.machine.run, ["kill", "-9", str(self.pid)])

    def output(self):
        return self.shell.run(f"cat {self.name}.out").out

    def goes_on(self):
        def steps():
            return self.shell.run(f"cat {self.name}.steps").out
        before = steps()
        await_that(f"steps of {self.name}", lambda: steps() != before)
        return True

    def ends_well(self):
        """Lets it compare all its memory, and returns whether that was right."""
        self.shell.run(f"kill -USR1 {self.pid}")
        return self.shell.run(f"wait {self.pid}").status == 0 and "done" in self.output()
