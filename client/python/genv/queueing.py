# SPDX-License-Identifier: LGPL-2.1-or-later
"""The queue: lists the requests that wait for GPUs, and cancels one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import List

from genv import contract, service
from genv.connection import Connection


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


def queue() -> List[Wait]:
    """Returns the requests that wait for GPUs, oldest first."""
    with Connection() as connection:
        (rows,) = connection.call(contract.MANAGER_PATH, contract.LIST_QUEUE)
    return [Wait(ticket, eid, uid, gpus, datetime.fromtimestamp(since / 1e6)) for ticket, eid, uid, gpus, since in rows]


def cancel_wait(ticket: int) -> None:
    """Cancels a request, whose caller gets DeviceUnavailable. Another user's request needs an administrator's consent.

    Raises NoSuchWait if no request has this ticket.
    """
    _, value = service.variant("t", ticket, "ticket")
    with Connection() as connection:
        service.change(connection, contract.MANAGER_PATH, contract.CANCEL_WAIT, value)
