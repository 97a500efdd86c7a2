# SPDX-License-Identifier: LGPL-2.1-or-later
"""walker.py: walks NVML through ctypes, as pynvml does, and prints the result of each function as JSON. A function is
called in all its versions. The result of one that fails is its error number, and None if the library has no such
function."""

import ctypes
import json
import os
import sys

UINT, HANDLE, ULL = ctypes.c_uint, ctypes.c_void_p, ctypes.c_ulonglong
INSUFFICIENT_SIZE = 7

library = ctypes.CDLL("libnvidia-ml.so.1")


def function(name):
    try:
        return getattr(library, name)
    except AttributeError:
        return None


def structure(name, *fields):
    return type(name, (ctypes.Structure,), {"_fields_": list(fields)})


MemoryV1 = structure("MemoryV1", ("total", ULL), ("free", ULL), ("used", ULL))
MemoryV2 = structure("MemoryV2", ("version", UINT), ("total", ULL), ("reserved", ULL), ("free", ULL), ("used", ULL))
ProcessV1 = structure("ProcessV1", ("pid", UINT), ("memory", ULL))
ProcessV2 = structure("ProcessV2", ("pid", UINT), ("memory", ULL), ("gi", UINT), ("ci", UINT))
Detail = structure("Detail", ("pid", UINT), ("memory", ULL), ("gi", UINT), ("ci", UINT), ("protected", ULL))
DetailList = structure("DetailList", ("version", UINT), ("mode", UINT), ("count", UINT),
                       ("processes", ctypes.POINTER(Detail)))
Sample = structure("Sample", ("pid", UINT), ("time", ULL), ("utilization", UINT * 4))
Info = structure("Info", ("time", ULL), ("pid", UINT), ("utilization", UINT * 6))
InfoList = structure("InfoList", ("version", UINT), ("count", UINT), ("since", ULL), ("samples", ctypes.POINTER(Info)))
Encoder = structure("Encoder", ("id", UINT), ("pid", UINT), ("rest", UINT * 6))
Fbc = structure("Fbc", ("id", UINT), ("pid", UINT), ("rest", UINT * 10))
Uuid = structure("Uuid", ("version", UINT), ("type", UINT), ("text", ctypes.c_char * 41))


def version(kind, number):
    return ctypes.sizeof(kind) | number << 24


def value(name, kind, *arguments):
    """Returns the value that a function writes to its last parameter."""
    call = function(name)
    if call is None:
        return None
    out = kind()
    result = call(*arguments, ctypes.byref(out))
    return out.value if result == 0 else result


def handle(name, *arguments):
    """Returns a handle, or the error number."""
    call = function(name)
    if call is None:
        return None
    out = HANDLE()
    result = call(*arguments, ctypes.byref(out))
    return HANDLE(out.value) if result == 0 else result


def uuid(device):
    buffer = ctypes.create_string_buffer(96)
    if not isinstance(device, HANDLE):
        return device
    result = library.nvmlDeviceGetUUID(device, buffer, 96)
    return buffer.value.decode() if result == 0 else result


def memory(device, name, kind, number):
    call = function(name)
    if call is None:
        return None
    out = kind()
    if number:
        out.version = version(kind, number)
    result = call(device, ctypes.byref(out))
    return result or {field: getattr(out, field) for field, _ in kind._fields_ if field != "version"}


def pids(device, name, kind):
    """Returns the PIDs of a list in NVML's way: first the number of entries, then the entries."""
    call = function(name)
    if call is None:
        return None
    count = UINT(0)
    result = call(device, ctypes.byref(count), None)
    if result not in (0, INSUFFICIENT_SIZE):
        return result
    assert (result == INSUFFICIENT_SIZE) == (count.value > 0), (name, result, count.value)
    room = count.value
    # The memory after the requested entries must not change.
    entries = (kind * (room + 2))()
    ctypes.memset(entries, 0x5A, ctypes.sizeof(entries))
    result = call(device, ctypes.byref(count), entries)
    assert result == 0 and count.value == room, (name, result, count.value, room)
    behind = ctypes.string_at(ctypes.addressof(entries) + room * ctypes.sizeof(kind), 2 * ctypes.sizeof(kind))
    assert behind == b"\x5a" * len(behind), name
    if room > 1:
        count = UINT(room - 1)
        assert call(device, ctypes.byref(count), entries) == INSUFFICIENT_SIZE and count.value == room, name
    return [entry if kind is UINT else entry.pid for entry in entries[:room]]


def details(device, mode):
    call = function("nvmlDeviceGetRunningProcessDetailList")
    if call is None:
        return None
    out = DetailList(version(DetailList, 1), mode, 0, None)
    result = call(device, ctypes.byref(out))
    if result not in (0, INSUFFICIENT_SIZE):
        return result
    entries = (Detail * out.count)()
    out.processes = entries
    return call(device, ctypes.byref(out)) or [entry.pid for entry in entries[: out.count]]


def samples(device):
    count = UINT(0)
    library.nvmlDeviceGetProcessUtilization(device, None, ctypes.byref(count), ULL(0))
    entries = (Sample * count.value)()
    result = library.nvmlDeviceGetProcessUtilization(device, entries, ctypes.byref(count), ULL(0))
    return result or [entry.pid for entry in entries[: count.value]]


def infos(device):
    call = function("nvmlDeviceGetProcessesUtilizationInfo")
    if call is None:
        return None
    out = InfoList(version(InfoList, 1), 0, 0, None)
    call(device, ctypes.byref(out))
    entries = (Info * out.count)()
    out.samples = entries
    return call(device, ctypes.byref(out)) or [entry.pid for entry in entries[: out.count]]


def handles(name, *keys):
    """Returns the UUIDs of a list of handles."""
    count = UINT(0)
    call = function(name)
    result = call(*keys, ctypes.byref(count), None)
    if result:
        return result
    found = (HANDLE * count.value)()
    result = call(*keys, ctypes.byref(count), found) if count.value else 0
    return result or [uuid(HANDLE(each)) for each in found[: count.value]]


def instances(device):
    """Returns the instances of a GPU by their index there, without gaps."""
    if function("nvmlDeviceGetMaxMigDeviceCount") is None:
        return None
    count = value("nvmlDeviceGetMaxMigDeviceCount", UINT, device)
    found = {}
    for index in range(count):
        instance = handle("nvmlDeviceGetMigDeviceHandleByIndex", device, index)
        if isinstance(instance, HANDLE):
            parent = handle("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", instance)
            found[index] = {"parent": uuid(parent), **about(instance)}
    return found


def about(device):
    lists = {}
    for kind in ("Compute", "Graphics", "MPSCompute"):
        for suffix, entry in (("", ProcessV1), ("_v2", ProcessV2), ("_v3", ProcessV2)):
            if suffix == "_v3" and "WALKER_LARGE_ENTRIES" in os.environ:
                entry = Detail
            lists[kind + suffix] = pids(device, f"nvmlDeviceGet{kind}RunningProcesses{suffix}", entry)
    return {
        "uuid": uuid(device),
        "index": value("nvmlDeviceGetIndex", UINT, device),
        "memory": memory(device, "nvmlDeviceGetMemoryInfo", MemoryV1, 0),
        "memory_v2": memory(device, "nvmlDeviceGetMemoryInfo_v2", MemoryV2, 2),
        "processes": lists,
        "details": [details(device, mode) for mode in range(3)],
        "samples": samples(device),
        "infos": infos(device),
        "accounted": pids(device, "nvmlDeviceGetAccountingPids", UINT),
        "encoding": pids(device, "nvmlDeviceGetEncoderSessions", Encoder),
        "capturing": pids(device, "nvmlDeviceGetFBCSessions", Fbc),
        "near": handles("nvmlDeviceGetTopologyNearestGpus", device, 10),
    }


def walk():
    assert library.nvmlInit() == 0
    count = value("nvmlDeviceGetCount", UINT)
    devices = []
    for index in range(count):
        device = handle("nvmlDeviceGetHandleByIndex", index)
        newer = handle("nvmlDeviceGetHandleByIndex_v2", index)
        assert newer is None or uuid(newer) == uuid(device)
        devices.append({**about(device), "instances": instances(device)})
    found = {}
    for arguments in sys.argv[1:]:
        way, key = arguments.split("=")
        if way == "UUIDV":
            found[arguments] = uuid(handle("nvmlDeviceGetHandleByUUIDV", ctypes.byref(
                Uuid(version(Uuid, 1), 1, key.encode()))))
        elif way == "stats":
            out = (UINT * 16)()
            found[arguments] = library.nvmlDeviceGetAccountingStats(
                handle("nvmlDeviceGetHandleByIndex", 0), UINT(int(key)), out)
        else:
            found[arguments] = uuid(handle(f"nvmlDeviceGetHandleBy{way}", key.encode()))
    print(json.dumps({
        "count": count,
        "count_v2": value("nvmlDeviceGetCount_v2", UINT),
        "beyond": handle("nvmlDeviceGetHandleByIndex", count),
        "devices": devices,
        "near_processor": handles("nvmlSystemGetTopologyGpuSet", 0),
        "found": found,
        "unknown": value("nvmlGenvUnknownFunction", UINT),
    }))


walk()
