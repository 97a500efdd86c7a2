# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the pictures have in common: a service on the fake NVML, and environments whose programs compute."""

import os
import subprocess

from bus_scenario import BusTest, programs
from machine import FILE


class Scene(BusTest):
    variables = {"LD_LIBRARY_PATH": os.environ.get("FAKE_NVML", ""), "GENV_FAKE_NVML": FILE}

    def runTest(self):
        pass

    def start_service(self):
        self.service = subprocess.Popen(["systemd-cat", "--identifier=genvd", programs["genvd"]],
                                        env={**os.environ, **self.variables})
        subprocess.run(["gdbus", "wait", "--system", "--timeout", "30", "dev.genv.Manager"], check=True)

    def compute(self, user, name, gpus, memory, utilization, program="python3"):
        """Activates an environment whose program computes on its GPUs."""
        shell = self.shell(user)
        done = shell.run(f"genv activate --gpus {gpus} --name {name} --lifetime 8h")
        assert done.status == 0, done
        pid = int(shell.run(f"ln -sf /bin/sleep {program}; ./{program} 1000 & echo $!").out)
        for index in map(int, shell.variable("CUDA_VISIBLE_DEVICES").split(",")):
            self.machine.run(index, pid, memory, utilization - 9 * index)
