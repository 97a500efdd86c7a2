# SPDX-License-Identifier: LGPL-2.1-or-later
"""Isolation: tells whether the kernel refuses GPUs to users who do not hold them, and lists the refusals."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Dict, List, Optional

from genv import contract, service
from genv.connection import Connection
from genv.errors import UNKNOWN_METHOD, Error, Failed

_NO_DEVICE = (1 << 32) - 1


@dataclass(frozen=True)
class Isolation:
    """Isolation as it is now. A mode is "none", "watch" (the kernel counts) or "user" (it refuses)."""

    #: The mode that is in force.
    mode: str
    #: The mode that is configured.
    wanted: str
    #: Whether an administrator suspended it, until the machine starts again.
    suspended: bool
    #: The problem that keeps isolation from working as configured; None without one.
    trouble: Optional[str]
    #: The indices of the GPUs that the kernel guards, of the others, and of those that are open to everybody.
    guarded: List[int]
    unguarded: List[int]
    open: List[int]


@dataclass(frozen=True)
class RefusedOpen:
    """How often a user opened a GPU that they did not hold. With Isolation=watch the kernel only counted it."""

    uid: int
    #: The GPU's index; None where no GPU has this node any more.
    device: Optional[int]
    #: The numbers of the device node, as in "195:1".
    node: str
    #: Since the machine started.
    count: int
    #: The time of the last attempt, in local time, and its process, which chose its name.
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
    """Isolation as it is now. A service of an earlier version has none, which is the mode "none"."""
    with Connection() as connection:
        try:
            (values,) = connection.call(contract.MANAGER_PATH, contract.DESCRIBE_ISOLATION)
        except Error as error:
            if error.name == UNKNOWN_METHOD:
                return Isolation(contract.NO_ISOLATION, contract.NO_ISOLATION, False, None, [], [], [])
            raise
    for name, signature in _SIGNATURES.items():
        if name not in values or values[name][0] != signature:
            raise Failed(f"the service's answer lacks {name}")
    known: Dict[str, Any] = {name: values[name][1] for name in _SIGNATURES}
    known["trouble"] = known["trouble"] or None
    return Isolation(**known)


def refused_opens(everybody: bool = False) -> List[RefusedOpen]:
    """The opens that the kernel refused to this user, the last first. Those of all users need an administrator's consent."""
    options = {"all": service.variant("b", True, "everybody")} if everybody else {}
    with Connection() as connection:
        (rows,) = service.change(connection, contract.MANAGER_PATH, contract.LIST_REFUSED_OPENS, options)
    return [
        RefusedOpen(uid, None if device == _NO_DEVICE else device, node, count, datetime.fromtimestamp(last / 1e6), pid, name)
        for uid, device, node, count, last, pid, name in rows
    ]
