# SPDX-License-Identifier: LGPL-2.1-or-later
"""A machine whose GPUs can be parked: the stand-ins of NVML and CUDA, and the real genv-park behind its socket.

The paths of the programs are in environment variables, see the CMakeLists.txt of the tests that use it.
"""

import json
import os
import shutil
import subprocess

from waiting import until

MEBIBYTE = 1 << 20


class CudaMachine:
    """Two GPUs of 1 GiB below a folder of the private bus."""

    def __init__(self, bus_folder):
        self._bus_folder = bus_folder
        self.folder = os.path.join(bus_folder, "machine")
        self.program = os.path.realpath(os.environ["GENV_TEST_CUDA_PROGRAM"])
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(os.path.join(self.folder, "allocations"), 0o755)
        os.chmod(os.path.join(self.folder, "allocations"), 0o1777)
        devices = [{"uuid": f"GPU-{index}", "memory": {"total": 1024 * MEBIBYTE, "used": 0}} for index in range(2)]
        with open(os.path.join(self.folder, "machine.json"), "w", encoding="ascii") as file:
            json.dump({"devices": devices}, file)
        #: The variables of the service and of every program that uses a GPU.
        self.variables = {
            "LD_LIBRARY_PATH": ":".join(os.environ[name] for name in ("GENV_TEST_FAKE_NVML", "GENV_TEST_FAKE_CUDA")),
            "GENV_FAKE_NVML": os.path.join(self.folder, "machine.json")}
        self.conf = os.path.join(os.environ["CONFIGURATION_DIRECTORY"], "genvd.conf")
        with open(self.conf, "w", encoding="ascii") as conf:
            conf.write("[GPU]\nBackend=nvml\n")
        socket = os.path.join(self.folder, "park.sock")
        self._argument = f"--park-socket={socket}"
        self._helpers = subprocess.Popen(
            ["systemd-socket-activate", "--accept", "--inetd", "-E", "LD_LIBRARY_PATH", "-E", "GENV_FAKE_NVML",
             "--listen", socket, os.environ["GENV_TEST_GENV_PARK"]], env=dict(os.environ, **self.variables),
            stderr=subprocess.DEVNULL)
        until(lambda: os.path.exists(socket), "the socket of genv-park")

    def start_service(self, *program):
        """Starts a genvd that reads its GPUs from the stand-in of NVML, and returns it once it knows them. Its name may
        be the last word of a command."""
        environment = dict(os.environ, **self.variables)
        environment.pop("GENV_MOCK_DEVICE_COUNT", None)
        with open(os.path.join(self._bus_folder, "genvd.log"), "ab") as log:
            service = subprocess.Popen([*program, self._argument], env=environment, stdout=log, stderr=log)
        until(self._is_known, "the GPUs")
        return service

    @staticmethod
    def _is_known():
        listed = subprocess.run(["busctl", "--auto-start=no", "call", "dev.genv.Manager", "/dev/genv/Manager",
                                 "dev.genv.Manager", "ListDevices"], capture_output=True, text=True, check=False)
        return listed.stdout.startswith("a(ussto) 2 ")

    def close(self):
        self._helpers.kill()
        self._helpers.wait()
        os.remove(self.conf)
