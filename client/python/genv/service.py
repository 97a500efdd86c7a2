# SPDX-License-Identifier: LGPL-2.1-or-later
"""The calls to the service that the package makes, each on a connection opened by its caller."""

from __future__ import annotations

import os
import random
import time
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

from genv import contract, memory
from genv.connection import Connection
from genv.entities import Env
from genv.errors import (
    UNKNOWN_OBJECT,
    Error,
    Failed,
    InvalidArgs,
    LimitsExceeded,
    NoSuchEnvironment,
    NoSuchProcess,
)

#: A value with its signature, in the form in which options are sent.
Variant = Tuple[str, Any]
Options = Dict[str, Variant]

# How long a call that exceeds the service's limits is repeated, and the first pause between calls, in seconds.
_CAPS_TIMEOUT = 2.0
_FIRST_PAUSE = 0.01
_MAX_PAUSE = 0.2

_RANGES = {"i": (-(1 << 31), (1 << 31) - 1), "u": (0, (1 << 32) - 1), "t": (0, (1 << 64) - 1)}


class _Interaction:
    """Whether calls may ask for a password through the user's agent."""

    allowed = False


def allow_interaction(allow: bool = True) -> None:
    """Sets whether later calls of this process may ask for a password through the user's authentication agent.

    If they may not, which is the default, a call that needs a password raises InteractiveAuthorizationRequired.
    """
    _Interaction.allowed = bool(allow)


@dataclass(frozen=True)
class ParkedDevice:
    """A device that a parked environment gave up, and the bytes that its processes had there."""

    index: int
    memory: int


@dataclass(frozen=True)
class Parking:
    """Whether an environment is parked. Amounts are in bytes."""

    #: "active", "parking", "parked" (also while a resume waits for devices) or "resuming".
    state: str = "active"
    devices: List[ParkedDevice] = field(default_factory=list)
    #: The host memory that its parked processes hold.
    memory: int = 0
    #: The local time at which it was parked.
    since: Optional[datetime] = None
    #: "user" or "admin", "taken" for another request, "idle" or "expired".
    reason: Optional[str] = None
    #: The bytes moved of those to move, while it parks or resumes.
    moved: int = 0
    to_move: int = 0
    #: Why the last parking failed, or a resume cannot go on, with the remedy.
    problem: Optional[str] = None
    #: The user whose request it is parked for. It goes on by itself when those GPUs are free again.
    taken_by: Optional[str] = None


@dataclass(frozen=True)
class EnvironmentState:
    """The state of an environment. Amounts are in bytes, `created` is in microseconds since the epoch."""

    eid: str
    uid: int
    created: int
    name: Optional[str]
    gpus: Optional[int]
    gpu_memory: Optional[int]
    devices: List[int]
    lingering: bool = False
    job: Optional[str] = None
    parent: Optional[str] = None
    over_subscribable: bool = False
    preemptible: str = "no"
    parking: Parking = field(default_factory=Parking)

    def gpu_memory_text(self) -> Optional[str]:
        """The share of each device's memory, as users write it."""
        return None if self.gpu_memory is None else memory.text_of(self.gpu_memory)

    def configuration(self) -> Env.Config:
        """The configuration of the environment."""
        return Env.Config(self.name, self.gpu_memory_text(), self.gpus)


def preemptible(kind: Union[bool, str]) -> Tuple[str, str]:
    """Returns the option for a kind of loan: True means "park", False "no"."""
    if isinstance(kind, bool):
        kind = "park" if kind else "no"
    if kind not in ("no", "park", "end"):
        raise InvalidArgs(f"invalid value {kind!r} for preemptible: expected True, False, \"park\" or \"end\"")
    return "s", kind


def variant(signature: str, value: Any, what: str) -> Variant:
    """Returns the value of an option. Raises InvalidArgs, with the name of the option, if a number does not fit."""
    if signature in _RANGES:
        if isinstance(value, bool) or not isinstance(value, int):
            raise InvalidArgs(f"invalid {what} {value!r}: expected a whole number")
        least, largest = _RANGES[signature]
        if not least <= value <= largest:
            raise InvalidArgs(f"invalid {what} {value}: expected {least} to {largest}")
    if signature == "s" and not isinstance(value, str):
        raise InvalidArgs(f"invalid {what} {value!r}: expected text")
    if signature == "s" and not _is_sendable(value):
        raise InvalidArgs(f"invalid {what} {value!r}: expected text in UTF-8 without zero bytes")
    return signature, value


def values_of(row: Dict[str, Variant], signatures: Dict[str, str]) -> List[Any]:
    """Returns the values of a dictionary with these names and signatures. Raises Failed if one is missing."""
    for name, signature in signatures.items():
        if name not in row or row[name][0] != signature:
            raise Failed(f"invalid reply of the service: no {name}")
    return [row[name][1] for name in signatures]


def local_time(microseconds: int) -> datetime:
    """Converts a time on the bus, in microseconds since the epoch."""
    return datetime.fromtimestamp(microseconds / 1e6)


# The bus disconnects a client that sends any other text.
def _is_sendable(text: str) -> bool:
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False


def memory_variant(amount: Union[str, int], what: str) -> Variant:
    """Returns an amount of memory, from text ("4g") or in bytes."""
    return variant("s" if isinstance(amount, str) else "t", amount, what)


def change(connection: Connection, path: str, method: contract.Method, *arguments: Any) -> Any:
    """Makes a call that changes something. It has no timeout, because the user may be typing a password.

    The service processes only a few such calls of each user at once. Calls above this limit, from many threads or
    processes, are repeated after a pause.
    """
    pause = _FIRST_PAUSE
    until = time.monotonic() + _CAPS_TIMEOUT
    while True:
        try:
            return connection.call(path, method, *arguments, timeout=None, interactive=_Interaction.allowed)
        except LimitsExceeded:
            if time.monotonic() >= until:
                raise
        time.sleep(pause * random.uniform(0.5, 1))
        pause = min(2 * pause, _MAX_PAUSE)


def gone(eid: str) -> NoSuchEnvironment:
    """Returns the exception for an environment of this process that has ended."""
    return NoSuchEnvironment(f"Not running in an active environment: environment {eid} has ended")


def about_environment(
    connection: Connection, eid: str, method: contract.Method, *arguments: Any
) -> Any:
    """Makes a call that changes an environment. Raises NoSuchEnvironment if it has ended."""
    try:
        return change(connection, contract.environment_path(eid), method, *arguments)
    except Error as error:
        if error.name == UNKNOWN_OBJECT:
            raise gone(eid) from None
        raise


def environment(connection: Connection, eid: str) -> EnvironmentState:
    """Returns an environment by its id. Raises NoSuchEnvironment."""
    try:
        (values,) = connection.call(contract.environment_path(eid), contract.GET_ALL, contract.ENVIRONMENT)
    except Error as error:
        if error.name == UNKNOWN_OBJECT:
            raise gone(eid) from None
        raise
    known: Dict[str, Any] = {}
    for name, signature in contract.ENVIRONMENT_PROPERTIES.items():
        if name not in values or values[name][0] != signature:
            raise Failed(f"invalid reply of the service: no property {name}")
        known[name] = values[name][1]
    return EnvironmentState(
        known["Id"],
        known["Uid"],
        known["Created"],
        known["Name"] or None,
        known["Gpus"] or None,
        known["GpuMemory"] or None,
        sorted(known["Devices"]),
        known["Lingering"],
        known["Job"] or None,
        known["Parent"] or None,
        known["OverSubscribable"],
        known["Preemptible"],
        Parking(
            known["State"],
            [ParkedDevice(*row) for row in known["ParkedDevices"]],
            known["ParkedMemory"],
            local_time(known["ParkedSince"]) if known["ParkedSince"] else None,
            known["ParkedReason"] or None,
            known["ParkingProgress"][0],
            known["ParkingProgress"][1],
            known["ParkingProblem"] or None,
            known["TakenBy"] or None,
        ),
    )


def isolation_mode(connection: Connection) -> str:
    """Returns the isolation mode in force."""
    (value,) = connection.call(contract.MANAGER_PATH, contract.GET, contract.MANAGER, contract.ISOLATION)
    return str(value[1])


def visible_devices(connection: Connection, attached: Sequence[int], other_indices: bool = False) -> str:
    """Returns the value of CUDA_VISIBLE_DEVICES: the attached indices, or UUIDs if CUDA may have other indices. It
    may if the caller says so, while isolation is in force, and on a machine with MIG instances. Returns "-1" if
    nothing is attached, which hides every device."""
    if not attached:
        return "-1"
    (rows,) = connection.call(contract.MANAGER_PATH, contract.LIST_DEVICES)
    uuids: Dict[int, str] = {row[0]: row[1] for row in rows}
    has_instances = any(uuid.startswith("MIG-") for uuid in uuids.values())
    if not has_instances and not other_indices and isolation_mode(connection) == contract.NO_ISOLATION:
        return ",".join(str(index) for index in sorted(attached))
    return ",".join(uuids[index] for index in sorted(attached) if index in uuids) or "-1"


def own_user(connection: Connection) -> int:
    """Returns the uid of this process as the bus and the service see it. In a container, it may differ from
    os.geteuid()."""
    (uid,) = connection.call_bus(contract.GET_USER, connection.unique_name)
    return int(uid)


def own_process_id(connection: Connection) -> int:
    """Returns the PID of this process as the bus and the service see it. In a container, it differs from
    os.getpid()."""
    (pid,) = connection.call_bus(contract.GET_PROCESS_ID, connection.unique_name)
    return int(pid)


def leave(connection: Connection, eid: str) -> None:
    """Removes this process from an environment. Ignores an environment that has ended or does not contain the
    process."""
    pid = own_process_id(connection)
    try:
        about_environment(connection, eid, contract.REMOVE_PROCESS, pid)
    except (NoSuchEnvironment, NoSuchProcess):
        pass


def environments_of_this_process(connection: Connection) -> List[str]:
    """Returns the ids of the user's environments that have this process as a root process: at most one."""
    pid = own_process_id(connection)
    (rows,) = connection.call(contract.MANAGER_PATH, contract.LIST_ENVIRONMENTS)
    return [row[0] for row in rows if pid in row[5] and row[1] == os.geteuid()]


def leave_all(connection: Connection) -> None:
    """Removes this process from every environment that contains it, because a grant may arrive after an
    interruption."""
    for eid in environments_of_this_process(connection):
        leave(connection, eid)
