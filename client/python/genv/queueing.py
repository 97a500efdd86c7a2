# SPDX-License-Identifier: LGPL-2.1-or-later
"""The queue: lists who waits for GPUs, and cancels a wait."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import List

from genv import contract, service
from genv.connection import Connection


@dataclass(frozen=True)
class Wait:
    """A request that waits for GPUs."""

    #: Its number, which no other request gets.
    ticket: int
    #: The environment that the GPUs are for, and its owner.
    eid: str
    uid: int
    #: How many more GPUs it waits for.
    gpus: int
    #: The time when it began to wait, in local time.
    since: datetime


def queue() -> List[Wait]:
    """The requests that wait for GPUs, first come first."""
    with Connection() as connection:
        (rows,) = connection.call(contract.MANAGER_PATH, contract.LIST_QUEUE)
    return [Wait(ticket, eid, uid, gpus, datetime.fromtimestamp(since / 1e6)) for ticket, eid, uid, gpus, since in rows]


def cancel_wait(ticket: int) -> None:
    """Cancels a wait; whoever waits gets DeviceUnavailable. Another user's takes an administrator's consent.

    Raises NoSuchWait where no request with this ticket waits.
    """
    _, value = service.variant("t", ticket, "ticket")
    with Connection() as connection:
        service.change(connection, contract.MANAGER_PATH, contract.CANCEL_WAIT, value)
