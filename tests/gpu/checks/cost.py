# SPDX-License-Identifier: LGPL-2.1-or-later
"""what genv costs beside the driver"""

import statistics
import time

from case import GpuTest, Kit
from service import pid_of, processor_ticks, until

SAMPLING_SECONDS = 8
PROGRAMS = 60
SMALL = 50  # MiB
# The memory of a small CUDA program with its context, in MiB, generously.
EACH = 900


class Cost(GpuTest):
    def milliseconds(self, *command):
        times = []
        for _ in range(10):
            began = time.perf_counter()
            done = self.alice.run(*command)
            times.append((time.perf_counter() - began) * 1000)
            self.assertEqual(done.returncode, 0, done.stderr)
        return statistics.median(times)

    def test_devices(self):
        """genvctl devices beside nvidia-smi -L"""
        self.need_tool("nvidia-smi")
        genvctl, tool = self.milliseconds("genvctl", "devices", "--wide"), self.milliseconds("nvidia-smi", "-L")
        self.saw(f"{genvctl:.1f} ms against {tool:.1f} ms")

    def test_sampling(self):
        """Processor time of sampling each second"""
        self.hold(self.alice, 200, SAMPLING_SECONDS + 10)
        pids = [self.service.genvd.pid, pid_of("genv-nvml", Kit.pen.is_ours)]
        before = [processor_ticks(pid) for pid in pids]
        time.sleep(SAMPLING_SECONDS)  # the measured time
        service, helper = ((processor_ticks(pid) - ticks) * 10 / SAMPLING_SECONDS for pid, ticks in zip(pids, before))
        self.saw(f"genvd {service:.1f} ms, genv-nvml {helper:.1f} ms in a second")

    def test_many(self):
        """Many CUDA programs at once are listed with their memory"""
        number = max(1, min(PROGRAMS, (self.gpu["total"] - self.gpu["used"]) // 2**20 // EACH))
        programs = [self.start(self.alice, "cuda-holder", str(SMALL), "120", variables={"CUDA_VISIBLE_DEVICES": self.uuid})
                    for _ in range(number)]
        pids = {program.ready_pid(120) for program in programs}

        def unlisted():
            now = self.service.processes()
            return [pid for pid in pids if pid not in now or now[pid][1] < SMALL]

        until(lambda: not unlisted(),
              lambda: f"genvd lists all programs with their memory; {len(unlisted())} of {number} are missing, the driver says "
              f"{self.driver_memory(unlisted()[0])} MiB of one")
        took = self.milliseconds("genvctl", "devices", "--wide")
        self.saw(f"{number} programs; genvctl devices takes {took:.1f} ms")
