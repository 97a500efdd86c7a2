# SPDX-License-Identifier: LGPL-2.1-or-later
"""Calls that wait in the queue, as libgenv makes them.

Each has its own connection: closing it, by Ctrl-C or by the end of the process, is how a caller leaves the queue. If
the service ends meanwhile, the same call is repeated when it is running again. It keeps its position if that takes less
than 30 seconds. The call never starts a service that an administrator has stopped.
"""

from __future__ import annotations

import math
import time
from datetime import timedelta
from typing import Any, Callable, Optional, Tuple, Union

from genv import contract, occupied
from genv.connection import Connection
from genv.errors import NO_REPLY, UNKNOWN_OBJECT, Error, InvalidArgs, ServiceUnavailable, Timeout
from genv.service import Options, change, gone

#: A time span: seconds, or a timedelta.
Span = Union[int, float, timedelta]

#: The options of a call that waits, also while a quota forbids the request.
WAIT: Options = {"wait": ("b", True), "hold-for-quota": ("b", True)}

# A call that makes the service crash each time is given up after so many attempts, each shorter than this. Before that,
# the limit of genvd.service (StartLimitBurst=) stops the service, for which the call then waits.
_MAX_SHORT_ATTEMPTS = 41
_SHORT_ATTEMPT = 5.0
_BETWEEN_BUSES = 0.1


def seconds(span: Span, what: str) -> int:
    """Returns a time span in whole seconds, rounded up. Raises InvalidArgs for any other value."""
    value = span.total_seconds() if isinstance(span, timedelta) else span
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value < 0:
        raise InvalidArgs(f"invalid {what} {span!r}: expected a time span in seconds")
    return math.ceil(value)


class RemainingTime:
    """The rest of a timeout, for a call that has to be repeated."""

    def __init__(self, span: Optional[Span]) -> None:
        self._seconds = None if span is None else seconds(span, "timeout")
        self._began = time.monotonic()

    def put_into(self, options: Options) -> Options:
        """Returns the options with `timeout`, if there is one: at least 1 s, the smallest timeout that the service
        accepts."""
        if self._seconds is None:
            return options
        left = math.ceil(self.left() or 0)
        return {**options, "timeout": ("t", max(left, min(self._seconds, 1)))}

    def left(self) -> Optional[float]:
        """Returns the remaining seconds, or None if there is no limit."""
        return None if self._seconds is None else self._seconds - (time.monotonic() - self._began)


#: No timeout.
NO_LIMIT = RemainingTime(None)


def _await_service(remaining: RemainingTime) -> None:
    """Waits until the service is running. Raises Timeout when the time is over."""
    with Connection(starts_service=False) as connection:
        connection.add_match(
            f"type='signal',sender='{contract.BUS_DRIVER}',interface='{contract.BUS_DRIVER}',"
            f"member='NameOwnerChanged',arg0='{contract.BUS_NAME}'"
        )
        while not connection.call_bus(contract.NAME_HAS_OWNER, contract.BUS_NAME)[0]:
            left = remaining.left()
            if left is not None and left <= 0:
                raise Timeout("the service genvd does not run")
            connection.next_signal(left)


def _await_bus_and_service(remaining: RemainingTime) -> None:
    try:
        _await_service(remaining)
    except ServiceUnavailable:  # the bus restarts
        left = remaining.left()
        time.sleep(max(0.0, _BETWEEN_BUSES if left is None else min(_BETWEEN_BUSES, left)))


def _change(
    connection: Connection, path: str, method: contract.Method, arguments: Tuple[Any, ...], eid: Optional[str]
) -> Any:
    attaches = method in (contract.ACTIVATE, contract.ATTACH)
    if attaches:
        occupied.listen(connection)
    reply = change(connection, path, method, *arguments)
    if attaches:
        occupied.warn(connection, reply[0] if eid is None else eid)
    return reply


def call(
    path: str,
    method: contract.Method,
    arguments: Callable[[], Tuple[Any, ...]],
    remaining: RemainingTime = NO_LIMIT,
    eid: Optional[str] = None,
) -> Any:
    """Makes a call that may wait, and repeats it after a restart of the service.

    Warns if it attaches a GPU that something outside genv uses, to this environment or the one that the reply names.
    """
    interrupted = False
    short_attempts = 0
    while True:
        began = time.monotonic()
        try:
            with Connection(starts_service=not interrupted) as connection:
                return _change(connection, path, method, arguments(), eid)
        except ServiceUnavailable as error:
            if not interrupted and error.name != NO_REPLY:
                raise
            interrupted = True
            short_attempts = short_attempts + 1 if time.monotonic() - began < _SHORT_ATTEMPT else 0
            if error.name == NO_REPLY and short_attempts >= _MAX_SHORT_ATTEMPTS:
                raise
        _await_bus_and_service(remaining)


def call_environment(
    eid: str,
    method: contract.Method,
    arguments: Callable[[], Tuple[Any, ...]] = tuple,
    remaining: RemainingTime = NO_LIMIT,
) -> Any:
    """The same for an environment. Raises NoSuchEnvironment if it has ended."""
    try:
        return call(contract.environment_path(eid), method, arguments, remaining, eid)
    except Error as error:
        if error.name == UNKNOWN_OBJECT:
            raise gone(eid) from None
        raise
