# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the pictures have in common: a machine with eight H100s, the projects on it, and requests in the queue."""

import os
import subprocess

from bus_scenario import AS_USER, DEADLINE_SECONDS, BusTest, programs
from machine import FILE, Machine


class Scene(BusTest):
    variables = {"LD_LIBRARY_PATH": os.environ.get("FAKE_NVML", ""), "GENV_FAKE_NVML": FILE}

    def runTest(self):
        pass

    def set_up(self, *settings):
        self.machine = Machine(8)
        self.waiting = []
        with open(os.path.join(os.environ["CONFIGURATION_DIRECTORY"], "genvd.conf"), "w", encoding="utf-8") as file:
            file.write("\n".join(["[GPU]", "Backend=nvml", "[Enforcement]", "EnvDevices=no", "[Limits]", "MaxLifetime=24h", *settings, ""]))
        self.setUp()

    def tear_down(self):
        for request in self.waiting:
            request.kill()
            request.wait()
        self.tearDown()

    def start_service(self):
        self.service = subprocess.Popen(["systemd-cat", "--identifier=genvd", programs["genvd"]],
                                        env={**os.environ, **self.variables})
        subprocess.run(["gdbus", "wait", "--system", "--timeout", str(DEADLINE_SECONDS), "dev.genv.Manager"], check=True)

    def start_projects(self):
        """Two projects hold GPUs 0 to 5; GPU 7 is in use outside genv."""
        self.compute("alice", "llama-finetune", 4, 61, 99, "torchrun")
        self.compute("bob", "protein-folding", 2, 34, 99)
        pid = int(self.shell("carol").run("ln -sf /bin/sleep jupyter; ./jupyter 10000 & echo $!").out)
        self.machine.run(7, pid, 9, 41)

    def wait_for(self, user, name, gpus):
        self.waiting.append(subprocess.Popen([AS_USER, user, programs["genvctl"], "run", "--gpus", str(gpus), "--name", name, "--wait",
                                              "--", "sleep", "1000"], stderr=subprocess.DEVNULL))

    def compute(self, user, name, gpus, memory, utilization, program="python3"):
        """Activates an environment whose program computes on its GPUs."""
        shell = self.shell(user)
        done = shell.run(f"genv activate --gpus {gpus} --name {name} --lifetime 8h")
        assert done.status == 0, done
        pid = int(shell.run(f"ln -sf /bin/sleep {program}; ./{program} 1000 & echo $!").out)
        for index in map(int, shell.variable("CUDA_VISIBLE_DEVICES").split(",")):
            self.machine.run(index, pid, memory, utilization - 5 * index)
