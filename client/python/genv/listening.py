# SPDX-License-Identifier: LGPL-2.1-or-later
"""The signals of the service as events."""

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
    """Base class of all events. `time` is the time at which the event arrived, with its time zone."""

    time: datetime = field(default_factory=lambda: datetime.now(timezone.utc).astimezone(), init=False, compare=False)


@dataclass(frozen=True)
class EnvironmentAdded(Event):
    """An environment has started. `eid` is its id."""

    eid: str


@dataclass(frozen=True)
class EnvironmentRemoved(Event):
    """An environment has ended, and so have its attachments."""

    eid: str


@dataclass(frozen=True)
class EnvironmentParked(Event):
    """An environment was parked. Reasons: user, admin, taken, idle, expired."""

    eid: str
    reason: str


@dataclass(frozen=True)
class EnvironmentResumed(Event):
    """A parked environment has its devices again, and its processes go on."""

    eid: str


@dataclass(frozen=True)
class Attached(Event):
    """The device with this index was attached to an environment."""

    eid: str
    index: int


@dataclass(frozen=True)
class Detached(Event):
    """A device was detached from an environment.

    Reasons: user, admin, process-exit, expired, idle, device-lost, job, parked, rule:NAME.
    """

    eid: str
    index: int
    reason: str


@dataclass(frozen=True)
class ProcessTerminated(Event):
    """A compute process was signalled to end. `eid` is None if it belonged to no environment."""

    pid: int
    eid: Optional[str]
    reason: str


@dataclass(frozen=True)
class QueueChanged(Event):
    """Requests were added to the queue or removed from it, or their order has changed."""


@dataclass(frozen=True)
class Notice(Event):
    """A message for the user with this uid. Its kinds and their details are listed in dev.genv.Manager(5).

    `eid` is None if the notice concerns no environment. Details may contain text chosen by other users.
    """

    uid: int
    kind: str
    eid: Optional[str]
    details: Mapping[str, Any]


@dataclass(frozen=True)
class ServiceEnded(Event):
    """The service has ended. No events are reported until it is running again."""


@dataclass(frozen=True)
class ServiceStarted(Event):
    """The service is running, for the first time or again."""


_READERS: Dict[str, Callable[..., Event]] = {
    "EnvironmentAdded": lambda eid, _: EnvironmentAdded(eid),
    "EnvironmentRemoved": lambda eid, _: EnvironmentRemoved(eid),
    "EnvironmentParked": lambda eid, _, reason: EnvironmentParked(eid, reason),
    "EnvironmentResumed": lambda eid, _: EnvironmentResumed(eid),
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

    Another thread may close it, which ends the iteration. Only one thread at a time may iterate.
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

    # In this order, no change of the owner and no signal of the present owner is missed.
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
        """Returns the next event, or None after `timeout` seconds (None: no limit) or when it was closed.

        Raises ServiceUnavailable if the bus itself disconnects. The end of the service is an event.
        """
        if os.getpid() != self._process:
            raise Error("cannot receive events in a forked process; call genv.events() there")
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
                self._on_signal(signal)
            return self._ready.popleft()

    def close(self) -> None:
        """Stops listening, and ends an iteration in another thread."""
        self._closed = True
        if os.getpid() != self._process:
            return  # the connection was closed here at the fork
        self._connection.wake()
        with self._iterating:
            self._connection.close()

    def _on_signal(self, signal: wire.Message) -> None:
        if signal.sender == contract.BUS_DRIVER:
            if signal.member == "NameOwnerChanged" and signal.signature == "sss" and signal.body[0] == contract.BUS_NAME:
                self._change_owner(signal.body[2])
            return
        # Anyone can send a signal directly to this connection, without any match rule.
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
    """Returns an iterator over the signals of the service since this call, also across restarts of the service.

    The iteration ends when nothing has arrived for `timeout` seconds (None: never), or when it is closed. Signals count
    only if the owner of the service's bus name sent them. Raises ServiceUnavailable if there is no bus. The service
    need not be running.
    """
    return Events(timeout)
