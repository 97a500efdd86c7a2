# SPDX-License-Identifier: LGPL-2.1-or-later
"""What stands before a connection's first call of the service: whether it can answer.

The bus starts a service that is not running, but it does not hear that this failed: it lets the caller wait for 25 s and
knows no reason. systemd knows it.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Optional

from genv import contract
from genv.errors import NO_REPLY, Error, ServiceUnavailable

if TYPE_CHECKING:
    from genv.connection import Connection

# The exit status of a service whose configuration is wrong.
_EXIT_CONFIGURATION = 78
# How often systemd is asked while the service starts, in seconds.
_BETWEEN_LOOKS = 0.1


def _is_there(connection: Connection) -> bool:
    (has_owner,) = connection.call_bus(contract.NAME_HAS_OWNER, contract.BUS_NAME)
    return bool(has_owner)


def _property(connection: Connection, interface: str, name: str) -> Any:
    """A property of the service's unit; None where systemd does not answer."""
    try:
        ((_, value),) = connection.call_systemd(contract.GET, interface, name)
        return value
    except Error:
        return None


def _require_not_failed(connection: Connection, *, only_configuration: bool = False) -> None:
    if _property(connection, contract.UNIT, "ActiveState") != "failed":
        return
    status = _property(connection, contract.UNIT_SERVICE, "ExecMainStatus")
    if only_configuration and status != _EXIT_CONFIGURATION:
        return
    why = _property(connection, contract.UNIT_SERVICE, "StatusText")
    if not why:
        why = f"{_property(connection, contract.UNIT_SERVICE, 'Result')}, status {status}"
    raise ServiceUnavailable(f"genvd.service has failed: {why}", contract.SPAWN_FAILED)


def require_service(connection: Connection, patience: float) -> None:
    """Starts the service if it is not running, in at most `patience` seconds.

    Raises ServiceUnavailable with systemd's reason if that fails. A configuration that is wrong does not heal by itself,
    and systemd limits how often a start may be tried: once its unit has failed so, nothing is started. Without systemd,
    the call that follows starts the service.
    """
    if _is_there(connection) or _property(connection, contract.UNIT, "LoadState") != "loaded":
        return
    _require_not_failed(connection, only_configuration=True)
    until = time.monotonic() + patience
    while True:
        failure: Optional[ServiceUnavailable] = None
        try:
            connection.call_bus(contract.START_SERVICE_BY_NAME, contract.BUS_NAME, 0, patience=_BETWEEN_LOOKS)
            return
        except ServiceUnavailable as error:
            failure = error
        _require_not_failed(connection)
        if _is_there(connection):
            return
        if failure.name != NO_REPLY or time.monotonic() >= until:
            raise failure
