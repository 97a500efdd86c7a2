# SPDX-License-Identifier: LGPL-2.1-or-later
"""The names both sides of the bus use, and the variables that carry an environment into a process.

Nothing else in the package spells a name of the bus. A test compares this file with dbus/*.xml and dbus/contract.
"""

from __future__ import annotations

import re
from typing import Dict, NamedTuple

BUS_NAME = "dev.genv.Manager"
MANAGER_PATH = "/dev/genv/Manager"
ENVIRONMENT_PREFIX = "/dev/genv/Manager/environment"
DEVICE_PREFIX = "/dev/genv/Manager/device"

MANAGER = "dev.genv.Manager"
ENVIRONMENT = "dev.genv.Environment"

BUS_DRIVER = "org.freedesktop.DBus"
BUS_DRIVER_PATH = "/org/freedesktop/DBus"
PROPERTIES = "org.freedesktop.DBus.Properties"

#: systemd, which runs the service.
SYSTEMD = "org.freedesktop.systemd1"
UNIT_PATH = "/org/freedesktop/systemd1/unit/genvd_2eservice"
UNIT = "org.freedesktop.systemd1.Unit"
UNIT_SERVICE = "org.freedesktop.systemd1.Service"
#: The error that a service which cannot be started is.
SPAWN_FAILED = "org.freedesktop.DBus.Error.Spawn.Failed"


class Method(NamedTuple):
    """A method and the signatures of what it takes and gives."""

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
LIST_QUEUE = Method(MANAGER, "ListQueue", "", "a(tsuut)")
CANCEL_WAIT = Method(MANAGER, "CancelWait", "t", "")
DESCRIBE_ISOLATION = Method(MANAGER, "DescribeIsolation", "", "a{sv}")
LIST_REFUSED_OPENS = Method(MANAGER, "ListRefusedOpens", "a{sv}", "a(uusttus)")

ATTACH = Method(ENVIRONMENT, "Attach", "a{sv}", "au")
DETACH = Method(ENVIRONMENT, "Detach", "au", "au")
CONFIGURE = Method(ENVIRONMENT, "Configure", "a{sv}as", "")
REMOVE_PROCESS = Method(ENVIRONMENT, "RemoveProcess", "u", "")
LOCK = Method(ENVIRONMENT, "Lock", "", "h")

GET = Method(PROPERTIES, "Get", "ss", "v")
GET_ALL = Method(PROPERTIES, "GetAll", "s", "a{sv}")
HELLO = Method(BUS_DRIVER, "Hello", "", "s")
ADD_MATCH = Method(BUS_DRIVER, "AddMatch", "s", "")
NAME_HAS_OWNER = Method(BUS_DRIVER, "NameHasOwner", "s", "b")
START_SERVICE_BY_NAME = Method(BUS_DRIVER, "StartServiceByName", "su", "u")
GET_NAME_OWNER = Method(BUS_DRIVER, "GetNameOwner", "s", "s")
GET_USER = Method(BUS_DRIVER, "GetConnectionUnixUser", "s", "u")
GET_PROCESS_ID = Method(BUS_DRIVER, "GetConnectionUnixProcessID", "s", "u")

#: The properties of an environment that are read, with their signatures.
ENVIRONMENT_PROPERTIES: Dict[str, str] = {
    "Id": "s",
    "Uid": "u",
    "Name": "s",
    "Created": "t",
    "Gpus": "u",
    "GpuMemory": "t",
    "Devices": "au",
}

#: The mode of isolation that is in force, a property of the manager; and the mode where it is not.
ISOLATION = "Isolation"
NO_ISOLATION = "none"

#: The signals of the manager that are told as events, with their signatures.
SIGNALS: Dict[str, str] = {
    "EnvironmentAdded": "so",
    "EnvironmentRemoved": "so",
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

#: Where the service writes a file for each environment; see data/doc/shell.md.
STATUS_FOLDER = "/run/genv/shell"

_IDENTIFIER = re.compile(r"[A-Za-z0-9._:@-]{1,64}", re.ASCII)


def is_identifier(text: str) -> bool:
    """Whether a text can be the id of an environment."""
    return _IDENTIFIER.fullmatch(text) is not None


def path_label(text: str) -> str:
    """A text as a label of an object path, and of a file name, as sd_bus_path_encode() has it."""
    if not text:
        return "_"
    label = ""
    for position, byte in enumerate(text.encode()):
        character = chr(byte)
        plain = character.isascii() and (character.isalpha() or (character.isdigit() and position > 0))
        label += character if plain else f"_{byte:02x}"
    return label


def environment_path(eid: str) -> str:
    """The object path of the environment with this id."""
    return f"{ENVIRONMENT_PREFIX}/{path_label(eid)}"
