# SPDX-License-Identifier: LGPL-2.1-or-later
"""Calls that wait in the queue, as libgenv makes them.

Each has its own connection: closing it, by Ctrl-C or by the end of the process, is how a caller leaves the queue. If
the service ends meanwhile, the same call is repeated for as long as the service keeps its position.
"""

from __future__ import annotations

import math
import time
from datetime import timedelta
from typing import Any, Callable, Optional, Tuple, Union

from genv import contract
from genv.connection import Connection
from genv.errors import NAME_HAS_NO_OWNER, NO_REPLY, UNKNOWN_OBJECT, Error, InvalidArgs, ServiceUnavailable
from genv.service import Options, change, gone

#: A time span: seconds, or a timedelta.
Span = Union[int, float, timedelta]

# How long in seconds the service keeps the queue position of a call interrupted by a restart.
_PLACE_KEPT = 30.0
# The interval between calls to a missing service. Each call starts it if the bus can.
_BETWEEN_CALLS = 1.0
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
        left = math.ceil(self._seconds - (time.monotonic() - self._began))
        return {**options, "timeout": ("t", max(left, min(self._seconds, 1)))}


def _await_service(longest: float) -> None:
    """Waits until the service is running, or until the time in seconds is over."""
    until = time.monotonic() + longest
    try:
        with Connection() as connection:
            connection.add_match(
                f"type='signal',sender='{contract.BUS_DRIVER}',interface='{contract.BUS_DRIVER}',"
                f"member='NameOwnerChanged',arg0='{contract.BUS_NAME}'"
            )
            try:
                connection.call_bus(contract.GET_NAME_OWNER, contract.BUS_NAME)
                return
            except ServiceUnavailable as error:
                if error.name != NAME_HAS_NO_OWNER:
                    raise
            while until > time.monotonic():
                signal = connection.next_signal(until - time.monotonic())
                if signal is not None and signal.sender == contract.BUS_DRIVER and signal.member == "NameOwnerChanged":
                    return
    except ServiceUnavailable:
        time.sleep(max(0.0, min(_BETWEEN_BUSES, until - time.monotonic())))


def call(path: str, method: contract.Method, arguments: Callable[[], Tuple[Any, ...]]) -> Any:
    """Makes a call that may wait, and repeats it after a restart of the service. It has no timeout of its own."""
    until: Optional[float] = None
    while True:
        began = time.monotonic()
        try:
            with Connection() as connection:
                return change(connection, path, method, *arguments())
        except ServiceUnavailable as error:
            if until is None and error.name != NO_REPLY:
                raise
            # Only a call that has waited gets a new period for retries. A service that this very call makes crash is
            # therefore not called endlessly.
            if until is None or time.monotonic() - began > _PLACE_KEPT:
                until = time.monotonic() + _PLACE_KEPT
            if time.monotonic() >= until:
                raise
        _await_service(min(until - time.monotonic(), _BETWEEN_CALLS))


def call_environment(eid: str, method: contract.Method, arguments: Callable[[], Tuple[Any, ...]] = tuple) -> Any:
    """The same for an environment. Raises NoSuchEnvironment if it has ended."""
    try:
        return call(contract.environment_path(eid), method, arguments)
    except Error as error:
        if error.name == UNKNOWN_OBJECT:
            raise gone(eid) from None
        raise
