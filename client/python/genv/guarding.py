# SPDX-License-Identifier: LGPL-2.1-or-later
"""Isolation: returns whether the kernel refuses GPUs to users who do not hold them, and lists the refused opens."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Dict, List, Optional

from genv import contract, service
from genv.connection import Connection
from genv.errors import Failed

_NO_DEVICE = (1 << 32) - 1


@dataclass(frozen=True)
class Isolation:
    """The current state of isolation. The modes are "none", "watch" (the kernel counts opens) and "user" (it refuses
    them)."""

    #: The mode in force.
    mode: str
    #: The configured mode.
    wanted: str
    #: Whether an administrator has suspended isolation, until the machine restarts.
    suspended: bool
    #: The reason why isolation does not work as configured, or None.
    trouble: Optional[str]
    #: The indices of the GPUs that the kernel guards, of all others, and of those that are open to every user.
    guarded: List[int]
    unguarded: List[int]
    open: List[int]


@dataclass(frozen=True)
class RefusedOpen:
    """How often a user opened a GPU without holding it. With Isolation=watch, the kernel only counted these opens."""

    uid: int
    #: The index of the GPU, or None if no GPU has this node any more.
    device: Optional[int]
    #: The device node, such as "GPU 1", or its numbers if it has no name.
    node: str
    #: The number of opens since the machine started.
    count: int
    #: The local time of the last attempt, and its process. The process chose its name.
    last: datetime
    pid: int
    command: str


_SIGNATURES = {
    "mode": "s",
    "wanted": "s",
    "suspended": "b",
    "trouble": "s",
    "guarded": "au",
    "unguarded": "au",
    "open": "au",
}


def isolation() -> Isolation:
    """Returns the current state of isolation."""
    with Connection() as connection:
        (values,) = connection.call(contract.MANAGER_PATH, contract.DESCRIBE_ISOLATION)
    for name, signature in _SIGNATURES.items():
        if name not in values or values[name][0] != signature:
            raise Failed(f"invalid reply of the service: no {name}")
    known: Dict[str, Any] = {name: values[name][1] for name in _SIGNATURES}
    known["trouble"] = known["trouble"] or None
    return Isolation(**known)


def refused_opens(everybody: bool = False) -> List[RefusedOpen]:
    """Returns the opens that the kernel refused to this user, latest first.

    With `everybody`, returns those of all users, which needs an administrator's consent.
    """
    options = {"all": service.variant("b", True, "everybody")} if everybody else {}
    with Connection() as connection:
        (rows,) = service.change(connection, contract.MANAGER_PATH, contract.LIST_REFUSED_OPENS, options)
    return [
        RefusedOpen(uid, None if device == _NO_DEVICE else device, node, count, datetime.fromtimestamp(last / 1e6), pid, name)
        for uid, device, node, count, last, pid, name in rows
    ]
