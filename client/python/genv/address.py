# SPDX-License-Identifier: LGPL-2.1-or-later
"""Finds the buses: DBUS_SYSTEM_BUS_ADDRESS or DBUS_SESSION_BUS_ADDRESS in the format of the D-Bus specification, or the
well-known sockets."""

from __future__ import annotations

import os
import re
from typing import Iterator, List

from genv.errors import NO_SERVER, ServiceUnavailable

_VARIABLE = "DBUS_SYSTEM_BUS_ADDRESS"
_USER_VARIABLE = "DBUS_SESSION_BUS_ADDRESS"
_DEFAULT = "unix:path=/run/dbus/system_bus_socket;unix:path=/var/run/dbus/system_bus_socket"
_ESCAPED = re.compile(rb"%([0-9A-Fa-f]{2})")


def _unescaped(value: str) -> str:
    raw = _ESCAPED.sub(lambda found: bytes([int(found.group(1), 16)]), os.fsencode(value))
    return os.fsdecode(raw)


def _sockets_in(addresses: str) -> Iterator[str]:
    for address in addresses.split(";"):
        transport, _, rest = address.strip().partition(":")
        if transport != "unix":
            continue
        for pair in rest.split(","):
            key, _, value = pair.partition("=")
            if key == "path" and value:
                yield _unescaped(value)
            elif key == "abstract" and value:
                yield "\0" + _unescaped(value)


def system_bus_sockets() -> List[str]:
    """Returns the sockets to try, in this order. An abstract socket starts with a zero byte.

    Raises ServiceUnavailable if the address contains no socket that this package supports.
    """
    addresses = os.environ.get(_VARIABLE) or _DEFAULT
    sockets = list(_sockets_in(addresses))
    if not sockets:
        raise ServiceUnavailable(
            f"the system bus cannot be reached: {_VARIABLE} names no unix socket: {addresses!r}", NO_SERVER
        )
    return sockets


def user_bus_sockets() -> List[str]:
    """Returns the sockets of the user's bus to try, in this order: the session's, and that of the user's manager."""
    sockets = list(_sockets_in(os.environ.get(_USER_VARIABLE, "")))
    of_manager = f"/run/user/{os.geteuid()}/bus"
    return sockets if of_manager in sockets else [*sockets, of_manager]
