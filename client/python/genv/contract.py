# SPDX-License-Identifier: LGPL-2.1-or-later
"""The names that both sides of the bus use, and the variables that pass an environment to a process.

No other module of the package contains a D-Bus name. A test compares this file with dbus/*.xml and dbus/contract.
"""

from __future__ import annotations

import re
from typing import Dict, NamedTuple

BUS_NAME = "dev.genv.Manager"
MANAGER_PATH = "/dev/genv/Manager"
ENVIRONMENT_PREFIX = "/dev/genv/Manager/environment"
DEVICE_PREFIX = "/dev/genv/Manager/device"

#: genv-jobs, on the bus of its user.
JOBS_BUS_NAME = "dev.genv.Jobs"
JOBS_PATH = "/dev/genv/Jobs"

MANAGER = "dev.genv.Manager"
ENVIRONMENT = "dev.genv.Environment"
JOBS = "dev.genv.Jobs"

BUS_DRIVER = "org.freedesktop.DBus"
BUS_DRIVER_PATH = "/org/freedesktop/DBus"
PROPERTIES = "org.freedesktop.DBus.Properties"

#: systemd, which runs the service.
SYSTEMD = "org.freedesktop.systemd1"
SYSTEMD_PATH = "/org/freedesktop/systemd1"
UNIT_PATH = "/org/freedesktop/systemd1/unit/genvd_2eservice"
JOBS_UNIT_PATH = "/org/freedesktop/systemd1/unit/genv_2djobs_2eservice"
SYSTEMD_MANAGER = "org.freedesktop.systemd1.Manager"
UNIT = "org.freedesktop.systemd1.Unit"
UNIT_SERVICE = "org.freedesktop.systemd1.Service"
#: The error for a service that cannot be started.
SPAWN_FAILED = "org.freedesktop.DBus.Error.Spawn.Failed"


class Method(NamedTuple):
    """A method, and the signatures of its arguments and results."""

    interface: str
    member: str
    takes: str
    gives: str


ACTIVATE = Method(MANAGER, "Activate", "a{sv}", "so")
LIST_ENVIRONMENTS = Method(MANAGER, "ListEnvironments", "", "a(susstauo)")
LIST_DEVICES = Method(MANAGER, "ListDevices", "", "a(ussto)")
DESCRIBE_PROCESSES = Method(MANAGER, "DescribeProcesses", "", "aa{sv}")
LIST_READINGS = Method(MANAGER, "ListReadings", "t", "a(uttuiu)")
SNAPSHOT = Method(MANAGER, "Snapshot", "", "s")
DESCRIBE_QUEUE = Method(MANAGER, "DescribeQueue", "", "aa{sv}")
CANCEL_WAIT = Method(MANAGER, "CancelWait", "t", "")
DESCRIBE_ISOLATION = Method(MANAGER, "DescribeIsolation", "", "a{sv}")
LIST_REFUSED_OPENS = Method(MANAGER, "ListRefusedOpens", "a{sv}", "a(uusttus)")

ATTACH = Method(ENVIRONMENT, "Attach", "a{sv}", "au")
DETACH = Method(ENVIRONMENT, "Detach", "au", "au")
CONFIGURE = Method(ENVIRONMENT, "Configure", "a{sv}as", "")
REMOVE_PROCESS = Method(ENVIRONMENT, "RemoveProcess", "u", "")
LOCK = Method(ENVIRONMENT, "Lock", "", "h")
PARK = Method(ENVIRONMENT, "Park", "a{sv}", "")
RESUME = Method(ENVIRONMENT, "Resume", "a{sv}", "au")

SUBMIT_JOB = Method(JOBS, "Submit", "a{sv}", "ua{sv}")
CANCEL_JOB = Method(JOBS, "Cancel", "uau", "u")
HOLD_JOB = Method(JOBS, "Hold", "uau", "u")
RELEASE_JOB = Method(JOBS, "Release", "uau", "u")
REQUEUE_JOB = Method(JOBS, "Requeue", "uau", "u")
LIST_JOBS = Method(JOBS, "List", "a{sv}", "aa{sv}")
GET_JOB = Method(JOBS, "Get", "u", "a{sv}")
LIST_JOB_TASKS = Method(JOBS, "ListTasks", "uau", "aa{sv}")

START_UNIT = Method(SYSTEMD_MANAGER, "StartUnit", "ss", "o")

GET = Method(PROPERTIES, "Get", "ss", "v")
GET_ALL = Method(PROPERTIES, "GetAll", "s", "a{sv}")
HELLO = Method(BUS_DRIVER, "Hello", "", "s")
ADD_MATCH = Method(BUS_DRIVER, "AddMatch", "s", "")
NAME_HAS_OWNER = Method(BUS_DRIVER, "NameHasOwner", "s", "b")
START_SERVICE_BY_NAME = Method(BUS_DRIVER, "StartServiceByName", "su", "u")
GET_NAME_OWNER = Method(BUS_DRIVER, "GetNameOwner", "s", "s")
GET_USER = Method(BUS_DRIVER, "GetConnectionUnixUser", "s", "u")
GET_PROCESS_ID = Method(BUS_DRIVER, "GetConnectionUnixProcessID", "s", "u")

#: The properties of an environment that the package reads, with their signatures.
ENVIRONMENT_PROPERTIES: Dict[str, str] = {
    "Id": "s",
    "Uid": "u",
    "Name": "s",
    "Created": "t",
    "Gpus": "u",
    "GpuMemory": "t",
    "Devices": "au",
    "Lingering": "b",
    "Job": "s",
    "Parent": "s",
    "OverSubscribable": "b",
    "Preemptible": "s",
    "State": "s",
    "ParkedDevices": "a(ut)",
    "ParkedMemory": "t",
    "ParkedSince": "t",
    "ParkedReason": "s",
    "TakenBy": "s",
    "ParkingProgress": "(tt)",
    "ParkingProblem": "s",
}

#: The property of the manager with the isolation mode in force, and the mode without isolation.
ISOLATION = "Isolation"
NO_ISOLATION = "none"

#: The signals of the manager that become events, with their signatures.
SIGNALS: Dict[str, str] = {
    "EnvironmentAdded": "so",
    "EnvironmentRemoved": "so",
    "EnvironmentParked": "sos",
    "EnvironmentResumed": "so",
    "Attached": "su",
    "Detached": "sus",
    "ProcessTerminated": "uss",
    "QueueChanged": "",
    "Notice": "ussa{sv}",
}

ENVIRONMENT_ID_VARIABLE = "GENV_ENVIRONMENT_ID"
CREATED_VARIABLE = "GENV_ENVIRONMENT_CREATED"
NAME_VARIABLE = "GENV_ENVIRONMENT_NAME"
GPU_MEMORY_VARIABLE = "GENV_GPU_MEMORY"
GPUS_VARIABLE = "GENV_GPUS"
PYTHON_VARIABLE = "GENV_PYTHON"
STATUS_FILE_VARIABLE = "GENV_STATUS_FILE"
VISIBLE_DEVICES_VARIABLE = "CUDA_VISIBLE_DEVICES"
DEVICE_ORDER_VARIABLE = "CUDA_DEVICE_ORDER"

#: The folder with the status file of each environment; see data/doc/shell.md.
STATUS_FOLDER = "/run/genv/shell"

_IDENTIFIER = re.compile(r"[A-Za-z0-9._:@-]{1,64}", re.ASCII)


def is_identifier(text: str) -> bool:
    """Returns whether a text is a valid environment id."""
    return _IDENTIFIER.fullmatch(text) is not None


def path_label(text: str) -> str:
    """Encodes a text as a label of an object path or as a file name, like sd_bus_path_encode()."""
    if not text:
        return "_"
    label = ""
    for position, byte in enumerate(text.encode()):
        character = chr(byte)
        plain = character.isascii() and (character.isalpha() or (character.isdigit() and position > 0))
        label += character if plain else f"_{byte:02x}"
    return label


def environment_path(eid: str) -> str:
    """Returns the object path of the environment with this id."""
    return f"{ENVIRONMENT_PREFIX}/{path_label(eid)}"
