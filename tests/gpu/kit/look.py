# SPDX-License-Identifier: LGPL-2.1-or-later
"""Asks NVML what is on the GPUs and prints it as JSON. It is a program of its own, because a driver may hang, and because
the checks also run it where the NVML filter is.

{"driver": "580.159.04", "devices": [{"index", "uuid", "name", "minor", "total", "used", "mig", "processes": [{"pid",
"memory", "type"}]}]}; memory is in bytes, or null if the driver does not tell it. A GPU that this process may not open
has only its index and the error.
"""

import ctypes
import json
import sys

NOT_AVAILABLE = 2**64 - 1
NO_INSTANCE = 2**32 - 1
KINDS = {"compute": "Compute", "graphics": "Graphics", "mps": "MPSCompute"}


class Memory(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint), ("total", ctypes.c_ulonglong), ("reserved", ctypes.c_ulonglong),
                ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


class OldMemory(ctypes.Structure):
    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


class OldProcess(ctypes.Structure):
    _fields_ = [("pid", ctypes.c_uint), ("memory", ctypes.c_ulonglong)]


class Process(ctypes.Structure):
    _fields_ = [*OldProcess._fields_, ("gi", ctypes.c_uint), ("ci", ctypes.c_uint)]


class Refused(Exception):
    """NVML's error, a number."""


class Nvml:
    def __init__(self):
        self.library = ctypes.CDLL("libnvidia-ml.so.1")
        self.call(self.newest("nvmlInit"))

    def has(self, name):
        return hasattr(self.library, name)

    def newest(self, name):
        """Returns the second version of a function if there is one, or the first, as in drivers of 2016."""
        return f"{name}_v2" if self.has(f"{name}_v2") else name

    def call(self, name, *arguments):
        result = getattr(self.library, name)(*arguments)
        if result:
            raise Refused(result)

    def text(self, name, *handles):
        buffer = ctypes.create_string_buffer(96)
        self.call(name, *handles, buffer, len(buffer))
        return buffer.value.decode(errors="replace")

    def number(self, name, *handles):
        value = ctypes.c_uint()
        self.call(name, *handles, ctypes.byref(value))
        return value.value

    def memory(self, device):
        """Returns the total and the allocated memory; with an old driver the latter includes what the driver reserves."""
        if self.has("nvmlDeviceGetMemoryInfo_v2"):
            memory = Memory(version=ctypes.sizeof(Memory) | 2 << 24)
            self.call("nvmlDeviceGetMemoryInfo_v2", device, ctypes.byref(memory))
        else:
            memory = OldMemory()
            self.call("nvmlDeviceGetMemoryInfo", device, ctypes.byref(memory))
        return memory.total, memory.used

    def processes(self, device):
        listed = []
        for kind, name in KINDS.items():
            for suffix, entry in (("_v3", Process), ("_v2", Process), ("", OldProcess)):
                function = f"nvmlDeviceGet{name}RunningProcesses{suffix}"
                if self.has(function):
                    listed += self._list(function, entry, device, kind)
                    break
        return listed

    def _list(self, function, entry, device, kind):
        count = ctypes.c_uint(1024)
        entries = (entry * count.value)()
        try:
            self.call(function, device, ctypes.byref(count), entries)
        except Refused as error:
            if kind == "mps" and error.args[0] in (1, 3, 13):  # not before R470
                return []
            raise
        return [{"pid": each.pid, "memory": None if each.memory == NOT_AVAILABLE else each.memory, "type": kind}
                for each in entries[:count.value]]

    def device(self, index):
        try:
            handle = ctypes.c_void_p()
            self.call(self.newest("nvmlDeviceGetHandleByIndex"), index, ctypes.byref(handle))
            total, used = self.memory(handle)
            return {"index": index, "uuid": self.text("nvmlDeviceGetUUID", handle),
                    "name": self.text("nvmlDeviceGetName", handle), "minor": self.number("nvmlDeviceGetMinorNumber", handle),
                    "total": total, "used": used, "mig": self._is_mig(handle), "processes": self.processes(handle)}
        except Refused as error:
            return {"index": index, "error": error.args[0]}

    def _is_mig(self, handle):
        current, pending = ctypes.c_uint(), ctypes.c_uint()
        try:
            self.call("nvmlDeviceGetMigMode", handle, ctypes.byref(current), ctypes.byref(pending))
        except (AttributeError, Refused):
            return False
        return current.value == 1


def main():
    try:
        nvml = Nvml()
        count = nvml.number(nvml.newest("nvmlDeviceGetCount"))
        print(json.dumps({"driver": nvml.text("nvmlSystemGetDriverVersion"),
                          "devices": [nvml.device(index) for index in range(count)]}))
    except (OSError, AttributeError) as error:
        sys.exit(f"NVML cannot be loaded: {error}")
    except Refused as error:
        sys.exit(f"NVML refuses to start: error {error}")


if __name__ == "__main__":
    main()
