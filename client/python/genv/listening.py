# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the service tells everybody, as it happens."""

from __future__ import annotations

import os
import threading
from collections import deque
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, Callable, Deque, Dict, Mapping, Optional

from genv import contract, wire
from genv.connection import Connection
from genv.errors import NAME_HAS_NO_OWNER, Error, ServiceUnavailable


@dataclass(frozen=True)
class Event:
    """Anything that happened; `time` is when it was heard, with its time zone."""

    time: datetime = field(default_factory=lambda: datetime.now(timezone.utc).astimezone(), init=False, compare=False)


@dataclass(frozen=True)
class EnvironmentAdded(Event):
    """An environment began; `eid` is its id."""

    eid: str


@dataclass(frozen=True)
class EnvironmentRemoved(Event):
    """An environment ended, and its attachments with it."""

    eid: str


@dataclass(frozen=True)
class Attached(Event):
    """An environment got the device with this index."""

    eid: str
    index: int


@dataclass(frozen=True)
class Detached(Event):
    """An environment lost or gave back a device.

    Reasons: user, admin, process-exit, expired, idle, device-lost, job, rule:NAME.
    """

    eid: str
    index: int
    reason: str


@dataclass(frozen=True)
class ProcessTerminated(Event):
    """A compute process was told to end; `eid` is None when it belonged to no environment."""

    pid: int
    eid: Optional[str]
    reason: str


@dataclass(frozen=True)
class QueueChanged(Event):
    """Those who wait for devices are others, or in another order."""


@dataclass(frozen=True)
class Notice(Event):
    """What the user with this uid should hear; the kinds and their details are in dev.genv.Manager(5).

    `eid` is None where it is about no environment. Details may quote text that other users chose.
    """

    uid: int
    kind: str
    eid: Optional[str]
    details: Mapping[str, Any]


@dataclass(frozen=True)
class ServiceEnded(Event):
    """The service is gone. What happens until it is there again is not told."""


@dataclass(frozen=True)
class ServiceStarted(Event):
    """The service is there, again or for the first time."""


_READERS: Dict[str, Callable[..., Event]] = {
    "EnvironmentAdded": lambda eid, _: EnvironmentAdded(eid),
    "EnvironmentRemoved": lambda eid, _: EnvironmentRemoved(eid),
    "Attached": Attached,
    "Detached": Detached,
    "ProcessTerminated": lambda pid, eid, reason: ProcessTerminated(pid, eid or None, reason),
    "QueueChanged": QueueChanged,
    "Notice": lambda uid, kind, eid, details: Notice(
        uid, kind, eid or None, {key: value for key, (_, value) in details.items()}
    ),
}


class Events:
    """An iterator over events, and a context manager that closes it.

    It may be closed by another thread, which ends the iteration; only one thread at a time may iterate.
    """

    def __init__(self, timeout: Optional[float] = None) -> None:
        self._timeout = timeout
        self._closed = False
        self._iterating = threading.Lock()
        self._ready: Deque[Event] = deque()
        self._process = os.getpid()
        self._connection = Connection()
        try:
            self._owner = self._subscribe()
        except BaseException:
            self._connection.close()
            raise

    # In this order no change of the owner and no signal of the one found is missed.
    def _subscribe(self) -> str:
        self._connection.add_match(
            f"type='signal',sender='{contract.BUS_DRIVER}',interface='{contract.BUS_DRIVER}',"
            f"member='NameOwnerChanged',arg0='{contract.BUS_NAME}'"
        )
        self._connection.add_match(
            f"type='signal',sender='{contract.BUS_NAME}',interface='{contract.MANAGER}',path='{contract.MANAGER_PATH}'"
        )
        try:
            (owner,) = self._connection.call_bus(contract.GET_NAME_OWNER, contract.BUS_NAME)
            return str(owner)
        except ServiceUnavailable as error:
            if error.name != NAME_HAS_NO_OWNER:
                raise
            return ""

    def __enter__(self) -> "Events":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> "Events":
        return self

    def __next__(self) -> Event:
        event = self.next(self._timeout)
        if event is None:
            raise StopIteration
        return event

    def next(self, timeout: Optional[float] = None) -> Optional[Event]:
        """The next event; None when none came for `timeout` seconds (None: without limit), or when it was closed.

        Raises ServiceUnavailable when the bus itself is gone. A service that ends is an event.
        """
        if os.getpid() != self._process:
            raise Error("events cannot be heard in a forked process; call genv.events() there")
        with self._iterating:
            while not self._ready:
                if self._closed:
                    return None
                try:
                    signal = self._connection.next_signal(timeout)
                except ServiceUnavailable:
                    if self._closed:
                        return None
                    raise
                if signal is None:
                    return None
                self._hear(signal)
            return self._ready.popleft()

    def close(self) -> None:
        """Hears nothing any more, and ends an iteration in another thread."""
        self._closed = True
        if os.getpid() != self._process:
            return  # the fork has closed it here
        self._connection.wake()
        with self._iterating:
            self._connection.close()

    def _hear(self, signal: wire.Message) -> None:
        if signal.sender == contract.BUS_DRIVER:
            if signal.member == "NameOwnerChanged" and signal.signature == "sss" and signal.body[0] == contract.BUS_NAME:
                self._change_owner(signal.body[2])
            return
        # Anybody can send a signal to this connection alone, without any match.
        is_services = bool(self._owner) and signal.sender == self._owner
        known = signal.interface == contract.MANAGER and signal.path == contract.MANAGER_PATH
        if not is_services or not known or contract.SIGNALS.get(signal.member) != signal.signature:
            return
        self._ready.append(_READERS[signal.member](*signal.body))

    def _change_owner(self, owner: str) -> None:
        if owner == self._owner:
            return
        if self._owner:
            self._ready.append(ServiceEnded())
        if owner:
            self._ready.append(ServiceStarted())
        self._owner = owner


def events(timeout: Optional[float] = None) -> Events:
    """Hears what the service tells everybody, from the return of this call on, also over a restart of the service.

    Iterate over the result; the iteration ends when nothing was heard for `timeout` seconds (None: never), or when it
    is closed. Only the owner of the service's name on the bus is believed. Raises ServiceUnavailable without a bus; the
    service need not be there.
    """
    return Events(timeout)
