# SPDX-License-Identifier: LGPL-2.1-or-later
"""The calls of the service that the package makes, each on a connection that its caller has opened."""

from __future__ import annotations

import os
import random
import time
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

from genv import contract, memory
from genv.connection import Connection
from genv.entities import Env
from genv.errors import (
    UNKNOWN_METHOD,
    UNKNOWN_OBJECT,
    UNKNOWN_PROPERTY,
    Error,
    Failed,
    InvalidArgs,
    LimitsExceeded,
    NoSuchEnvironment,
    NoSuchProcess,
)

#: A value with its signature, as an option of a call is sent.
Variant = Tuple[str, Any]
Options = Dict[str, Variant]

# How long a call that the service has no room for is made again, and the pauses in between, in seconds.
_PATIENCE_WITH_CAPS = 2.0
_FIRST_PAUSE = 0.01
_LONGEST_PAUSE = 0.2

_LARGEST = {"u": (1 << 32) - 1, "t": (1 << 64) - 1}


class _Interaction:
    """Whether calls may make an agent of the user ask for a password."""

    allowed = False


def allow_interaction(allow: bool = True) -> None:
    """Whether the calls of this process from here on may ask for a password, through an agent that the user has.

    Without it, which is the default, what needs one fails with InteractiveAuthorizationRequired.
    """
    _Interaction.allowed = bool(allow)


@dataclass(frozen=True)
class EnvironmentState:
    """An environment as the service has it. Amounts are in bytes, `created` in microseconds since the epoch."""

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

    def gpu_memory_text(self) -> Optional[str]:
        """The share of each device's memory, as people write it."""
        return None if self.gpu_memory is None else memory.text_of(self.gpu_memory)

    def configuration(self) -> Env.Config:
        """What its owner wants."""
        return Env.Config(self.name, self.gpu_memory_text(), self.gpus)


def variant(signature: str, value: Any, what: str) -> Variant:
    """An option's value. Raises InvalidArgs for a number that does not fit, naming what it is."""
    if signature in _LARGEST:
        if isinstance(value, bool) or not isinstance(value, int):
            raise InvalidArgs(f"{what} must be a whole number, not {value!r}")
        if not 0 <= value <= _LARGEST[signature]:
            raise InvalidArgs(f"{what} cannot be {value}")
    if signature == "s" and not isinstance(value, str):
        raise InvalidArgs(f"{what} must be a text, not {value!r}")
    if signature == "s" and not _is_sendable(value):
        raise InvalidArgs(f"{what} cannot be {value!r}")
    return signature, value


# The bus ends the connection of who sends anything else.
def _is_sendable(text: str) -> bool:
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False


def memory_variant(amount: Union[str, int], what: str) -> Variant:
    """An amount of memory, as text ("4g") or in bytes."""
    return variant("s" if isinstance(amount, str) else "t", amount, what)


def change(connection: Connection, path: str, method: contract.Method, *arguments: Any) -> Any:
    """A call that changes something. It waits as long as the service does: a person may be typing a password.

    The service looks at a few such calls of a user at once. What many threads or processes ask for together is asked
    for again a little later.
    """
    pause = _FIRST_PAUSE
    until = time.monotonic() + _PATIENCE_WITH_CAPS
    while True:
        try:
            return connection.call(path, method, *arguments, patience=None, interactive=_Interaction.allowed)
        except LimitsExceeded:
            if time.monotonic() >= until:
                raise
        time.sleep(pause * random.uniform(0.5, 1))
        pause = min(2 * pause, _LONGEST_PAUSE)


def gone(eid: str) -> NoSuchEnvironment:
    """What is raised where the environment of this process has ended."""
    return NoSuchEnvironment(f"Not running in an active environment: environment {eid} has ended")


def about_environment(
    connection: Connection, eid: str, method: contract.Method, *arguments: Any
) -> Any:
    """A call that changes an environment. Raises NoSuchEnvironment where it has ended."""
    try:
        return change(connection, contract.environment_path(eid), method, *arguments)
    except Error as error:
        if error.name == UNKNOWN_OBJECT:
            raise gone(eid) from None
        raise


def environment(connection: Connection, eid: str) -> EnvironmentState:
    """An environment by its id. Raises NoSuchEnvironment."""
    try:
        (values,) = connection.call(contract.environment_path(eid), contract.GET_ALL, contract.ENVIRONMENT)
    except Error as error:
        if error.name == UNKNOWN_OBJECT:
            raise gone(eid) from None
        raise
    known: Dict[str, Any] = {}
    for name, signature in contract.ENVIRONMENT_PROPERTIES.items():
        if name not in values or values[name][0] != signature:
            raise Failed(f"the service's answer lacks the property {name}")
        known[name] = values[name][1]
    return EnvironmentState(
        known["Id"],
        known["Uid"],
        known["Created"],
        known["Name"] or None,
        known["Gpus"] or None,
        known["GpuMemory"] or None,
        sorted(known["Devices"]),
        # A service of an earlier version has no such properties.
        "Lingering" in values and values["Lingering"] == ("b", True),
        values["Job"][1] or None if values.get("Job", ("", ""))[0] == "s" else None,
        values["Parent"][1] or None if values.get("Parent", ("", ""))[0] == "s" else None,
    )


def isolation_mode(connection: Connection) -> str:
    """The mode of isolation that is in force; "none" also from a service of an earlier version, which has no isolation."""
    try:
        (value,) = connection.call(contract.MANAGER_PATH, contract.GET, contract.MANAGER, contract.ISOLATION)
    except Error as error:
        if error.name in (UNKNOWN_PROPERTY, UNKNOWN_METHOD):
            return contract.NO_ISOLATION
        raise
    return str(value[1])


def visible_devices(connection: Connection, attached: Sequence[int], other_indices: bool = False) -> str:
    """The value of CUDA_VISIBLE_DEVICES: the attached indices, or UUIDs where CUDA may have other indices: as the caller
    says, while isolation is in force, and on a machine with MIG instances. "-1" when nothing is attached, which hides every
    device."""
    if not attached:
        return "-1"
    (rows,) = connection.call(contract.MANAGER_PATH, contract.LIST_DEVICES)
    uuids: Dict[int, str] = {row[0]: row[1] for row in rows}
    has_instances = any(uuid.startswith("MIG-") for uuid in uuids.values())
    if not has_instances and not other_indices and isolation_mode(connection) == contract.NO_ISOLATION:
        return ",".join(str(index) for index in sorted(attached))
    return ",".join(uuids[index] for index in sorted(attached) if index in uuids) or "-1"


def own_user(connection: Connection) -> int:
    """Who this process is to the bus and the service: in a container that may be another than os.geteuid()."""
    (uid,) = connection.call_bus(contract.GET_USER, connection.unique_name)
    return int(uid)


def own_process_id(connection: Connection) -> int:
    """The pid of this process as the bus and the service know it: in a container it is another than os.getpid()."""
    (pid,) = connection.call_bus(contract.GET_PROCESS_ID, connection.unique_name)
    return int(pid)


def leave(connection: Connection, eid: str) -> None:
    """Takes this process out of an environment. One that has ended, or that never had it, is as it should be."""
    pid = own_process_id(connection)
    try:
        about_environment(connection, eid, contract.REMOVE_PROCESS, pid)
    except (NoSuchEnvironment, NoSuchProcess):
        pass


def environments_of_this_process(connection: Connection) -> List[str]:
    """The ids of the user's environments that have this process as a root process: one at most."""
    pid = own_process_id(connection)
    (rows,) = connection.call(contract.MANAGER_PATH, contract.LIST_ENVIRONMENTS)
    return [row[0] for row in rows if pid in row[5] and row[1] == os.geteuid()]


def leave_all(connection: Connection) -> None:
    """Takes this process out of every environment that has it: a grant may cross an interruption on its way."""
    for eid in environments_of_this_process(connection):
        leave(connection, eid)
