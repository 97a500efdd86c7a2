# SPDX-License-Identifier: LGPL-2.1-or-later
"""The use of the GPUs: their readings of the last hour, and the processes on them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Dict, List, Optional

from genv import contract
from genv.connection import Connection
from genv.errors import Failed
from genv.service import local_time

# The values that mean "unknown" on the bus.
_UNKNOWN = {"i": (1 << 31) - 1, "u": (1 << 32) - 1, "t": (1 << 64) - 1}


@dataclass(frozen=True)
class Reading:
    """One sample of a GPU. A number is None if it could not be read."""

    #: The current index of the GPU.
    device: int
    #: The local time of the sample.
    when: datetime
    #: Bytes.
    used_memory: Optional[int]
    #: Percent.
    utilization: Optional[int]
    #: Degrees Celsius.
    temperature: Optional[int]
    #: Milliwatts.
    power: Optional[int]


@dataclass(frozen=True)
class ProcessUse:
    """The use of one GPU by a process. A number is None if it is not known."""

    device: int
    #: Bytes.
    used_memory: Optional[int]
    #: Percent of the time in which its work ran on the GPU.
    utilization: Optional[int]


@dataclass(frozen=True)
class ProcessDescription:
    """A process that the driver reports as using a GPU. The process chose its name."""

    pid: int
    uid: int
    #: The name of its user, or the uid as text.
    user: str
    #: The id of its environment, or None if it belongs to no environment.
    environment: Optional[str]
    name: str
    uses: List[ProcessUse]
    #: Its start time in local time, or None if that is not known.
    started: Optional[datetime]


_SIGNATURES = {
    "pid": "u",
    "uid": "u",
    "user": "s",
    "environment": "s",
    "name": "s",
    "devices": "a(utu)",
    "started": "t",
}


def _known(signature: str, value: int) -> Optional[int]:
    return None if value == _UNKNOWN[signature] else value


def readings(since: Optional[datetime] = None) -> List[Reading]:
    """Returns the readings of the last hour, oldest first, or only those later than `since`.

    The service keeps at most one reading every ten seconds.
    """
    after = 0 if since is None else max(0, round(since.timestamp() * 1e6))
    rows: List[Any] = []
    with Connection() as connection:
        while True:
            (page,) = connection.call(contract.MANAGER_PATH, contract.LIST_READINGS, after)
            if not page:
                break
            rows += page
            after = page[-1][1]
    return [
        Reading(device, local_time(when), _known("t", used), _known("u", utilization), _known("i", temperature), _known("u", power))
        for device, when, used, utilization, temperature, power in rows
    ]


def describe_processes() -> List[ProcessDescription]:
    """Returns the processes that use a GPU now, with their names and users. Command lines are not included."""
    with Connection() as connection:
        (processes,) = connection.call(contract.MANAGER_PATH, contract.DESCRIBE_PROCESSES)
    return [_description(process) for process in processes]


def _description(process: Dict[str, Any]) -> ProcessDescription:
    for name, signature in _SIGNATURES.items():
        if name not in process or process[name][0] != signature:
            raise Failed(f"invalid reply of the service: no {name}")
    values = {name: process[name][1] for name in _SIGNATURES}
    started = _known("t", values["started"])
    return ProcessDescription(
        values["pid"],
        values["uid"],
        values["user"],
        values["environment"] or None,
        values["name"],
        [ProcessUse(device, _known("t", used), _known("u", percent)) for device, used, percent in values["devices"]],
        None if started is None else local_time(started),
    )
