# SPDX-License-Identifier: LGPL-2.1-or-later
"""Calls that wait for their turn, as libgenv makes them.

Each has a connection of its own: closing it, by Ctrl-C or the end of the process, is how a caller leaves its line. When
the service ends meanwhile, the same call is made again for as long as the service keeps its place.
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

# How long the service keeps the place of a call that a restart interrupted, in seconds.
_PLACE_KEPT = 30.0
# How often a service that is not there is called, which starts it where the bus can.
_BETWEEN_CALLS = 1.0
_BETWEEN_BUSES = 0.1


def seconds(span: Span, what: str) -> int:
    """A time span in whole seconds, rounded up. Raises InvalidArgs for what is none."""
    value = span.total_seconds() if isinstance(span, timedelta) else span
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value < 0:
        raise InvalidArgs(f"{what} must be a time span in seconds, not {span!r}")
    return math.ceil(value)


class TimeLeft:
    """What is left of the time that a call may wait, when it has to be made again."""

    def __init__(self, span: Optional[Span]) -> None:
        self._seconds = None if span is None else seconds(span, "timeout")
        self._began = time.monotonic()

    def put_into(self, options: Options) -> Options:
        """The options with `timeout`, where there is one: never less than the second that is the least."""
        if self._seconds is None:
            return options
        left = math.ceil(self._seconds - (time.monotonic() - self._began))
        return {**options, "timeout": ("t", max(left, min(self._seconds, 1)))}


def _await_service(longest: float) -> None:
    """Until the service is there, or the time in seconds is over."""
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
    """Makes a call that may wait, and again after a restart of the service. Without a time-out of its own."""
    until: Optional[float] = None
    while True:
        began = time.monotonic()
        try:
            with Connection() as connection:
                return change(connection, path, method, *arguments())
        except ServiceUnavailable as error:
            if until is None and error.name != NO_REPLY:
                raise
            # Only a call that had waited begins a new time to come back: a service that ends of this very call is not
            # called for ever.
            if until is None or time.monotonic() - began > _PLACE_KEPT:
                until = time.monotonic() + _PLACE_KEPT
            if time.monotonic() >= until:
                raise
        _await_service(min(until - time.monotonic(), _BETWEEN_CALLS))


def call_environment(eid: str, method: contract.Method, arguments: Callable[[], Tuple[Any, ...]] = tuple) -> Any:
    """The same about an environment. Raises NoSuchEnvironment where it has ended."""
    try:
        return call(contract.environment_path(eid), method, arguments)
    except Error as error:
        if error.name == UNKNOWN_OBJECT:
            raise gone(eid) from None
        raise
