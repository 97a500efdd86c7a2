# SPDX-License-Identifier: LGPL-2.1-or-later
"""How much the GPUs are used: their readings of the last hour, and the processes on them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Dict, List, Optional

from genv import contract
from genv.connection import Connection
from genv.errors import UNKNOWN_METHOD, Error, Failed

# What an unknown number is on the bus.
_UNKNOWN = {"i": (1 << 31) - 1, "u": (1 << 32) - 1, "t": (1 << 64) - 1}


@dataclass(frozen=True)
class Reading:
    """What a sample measured of a GPU. A number that was not known is None."""

    #: The index that the GPU has now.
    device: int
    #: The time of the sample, in local time.
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
    """What a process uses of one GPU. A number that is not known is None."""

    device: int
    #: Bytes.
    used_memory: Optional[int]
    #: Percent of the time in which its work ran there.
    utilization: Optional[int]


@dataclass(frozen=True)
class ProcessDescription:
    """A process that the driver reports as using a GPU, which chose its name itself."""

    pid: int
    uid: int
    #: The name of its user, or the uid as text.
    user: str
    #: The id of its environment; None outside every environment.
    environment: Optional[str]
    name: str
    uses: List[ProcessUse]
    #: When it started, in local time; None where that is not known.
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


def _time(microseconds: int) -> datetime:
    return datetime.fromtimestamp(microseconds / 1e6)


def readings(since: Optional[datetime] = None) -> List[Reading]:
    """The readings of the last hour that are later than `since`, oldest first; all of them without a time.

    The service has them from samples that it takes anyway, at most one every ten seconds. One of an earlier version has none.
    """
    after = 0 if since is None else max(0, round(since.timestamp() * 1e6))
    rows: List[Any] = []
    with Connection() as connection:
        while True:
            try:
                (page,) = connection.call(contract.MANAGER_PATH, contract.LIST_READINGS, after)
            except Error as error:
                if error.name == UNKNOWN_METHOD:
                    return []
                raise
            if not page:
                break
            rows += page
            after = page[-1][1]
    return [
        Reading(device, _time(when), _known("t", used), _known("u", utilization), _known("i", temperature), _known("u", power))
        for device, when, used, utilization, temperature, power in rows
    ]


def describe_processes() -> List[ProcessDescription]:
    """The processes that use a GPU now, with what people know them by. Command lines are not told."""
    with Connection() as connection:
        (processes,) = connection.call(contract.MANAGER_PATH, contract.DESCRIBE_PROCESSES)
    return [_description(process) for process in processes]


def _description(process: Dict[str, Any]) -> ProcessDescription:
    for name, signature in _SIGNATURES.items():
        if name not in process or process[name][0] != signature:
            raise Failed(f"the service's answer lacks {name}")
    values = {name: process[name][1] for name in _SIGNATURES}
    started = _known("t", values["started"])
    return ProcessDescription(
        values["pid"],
        values["uid"],
        values["user"],
        values["environment"] or None,
        values["name"],
        [ProcessUse(device, _known("t", used), _known("u", percent)) for device, used, percent in values["devices"]],
        None if started is None else _time(started),
    )
