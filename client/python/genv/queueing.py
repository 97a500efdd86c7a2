# SPDX-License-Identifier: LGPL-2.1-or-later
"""The queue: lists the requests that wait for GPUs, and cancels one."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Dict, List, Optional

from genv import contract, service
from genv.connection import Connection
from genv.service import local_time, values_of


@dataclass(frozen=True)
class QuotaHold:
    """A limit of a user that holds a request back."""

    #: The name of the limit in genvd.conf, such as MaxDevicesPerUser.
    limit: str
    #: What the user holds without the request, and may hold. Memory is in bytes.
    used: int
    allowed: int


@dataclass(frozen=True)
class Taken:
    """A preemptible environment that is parked for a request."""

    eid: str
    name: Optional[str]
    user: str
    #: The GPU memory that moves, in bytes.
    memory: int


@dataclass(frozen=True)
class Wait:
    """A request that waits for GPUs."""

    #: A unique number of the request.
    ticket: int
    #: The environment that requested the GPUs, and its owner.
    eid: str
    uid: int
    #: The number of GPUs that it still needs.
    gpus: int
    #: The local time at which the wait began.
    since: datetime
    #: The reason of the wait: "devices", "earlier-requests" or "quota".
    waits_for: str
    #: Set if it waits for the user's quota.
    hold: Optional[QuotaHold]
    #: The local time at which it is expected to start, if that is known.
    expected_start: Optional[datetime]
    #: Whether an environment that was parked for others waits to go on.
    resumes: bool = False
    #: The environments that are being parked for it.
    taking: List[Taken] = field(default_factory=list)


def queue() -> List[Wait]:
    """Returns the requests that wait for GPUs, in the order in which they are served."""
    with Connection() as connection:
        (rows,) = connection.call(contract.MANAGER_PATH, contract.DESCRIBE_QUEUE)
    return [_wait(row) for row in rows]


_SIGNATURES = {"ticket": "t", "environment": "s", "uid": "u", "count": "u", "since": "t", "waits-for": "s"}
_HOLD_SIGNATURES = {"limit": "s", "used": "t", "allowed": "t"}


def _wait(row: Dict[str, Any]) -> Wait:
    ticket, eid, uid, gpus, since, waits_for = values_of(row, _SIGNATURES)
    hold = QuotaHold(*values_of(row, _HOLD_SIGNATURES)) if "limit" in row else None
    start = local_time(*values_of(row, {"expected-start": "t"})) if "expected-start" in row else None
    (resumes,) = values_of(row, {"resumes": "b"}) if "resumes" in row else (False,)
    (rows,) = values_of(row, {"taking": "a(ssstt)"}) if "taking" in row else ([],)
    taking = [Taken(taken, name or None, user, count) for taken, name, user, count, _ in rows]
    return Wait(ticket, eid, uid, gpus, local_time(since), waits_for, hold, start, resumes, taking)


def cancel_wait(ticket: int) -> None:
    """Cancels a request, whose caller gets DeviceUnavailable. Another user's request needs an administrator's consent.

    Raises NoSuchWait if no request has this ticket.
    """
    _, value = service.variant("t", ticket, "ticket")
    with Connection() as connection:
        service.change(connection, contract.MANAGER_PATH, contract.CANCEL_WAIT, value)
