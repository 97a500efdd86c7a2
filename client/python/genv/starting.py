# SPDX-License-Identifier: LGPL-2.1-or-later
"""Checks before the first call of a connection whether the service can answer: genvd, or genv-jobs on the user's bus.

The bus starts a service that is not running, but it does not notice a failed start: the caller waits for 25 s and gets
no reason. systemd knows the reason.
"""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Optional

from genv import contract
from genv.errors import NO_REPLY, Error, ServiceUnavailable

if TYPE_CHECKING:
    from genv.connection import Connection

# The exit status of a service with an invalid configuration.
_EXIT_CONFIGURATION = 78
# The interval in seconds between requests to systemd while the service starts.
_BETWEEN_LOOKS = 0.1


@dataclass(frozen=True)
class Startable:
    """A service that the bus starts."""

    bus_name: str
    unit: str
    unit_path: str
    #: A bus that still waits for the end of an earlier start, which has failed, would not start it again. An ordinary
    #: user may ask only its own systemd.
    is_own: bool = False


GENVD = Startable(contract.BUS_NAME, "genvd.service", contract.UNIT_PATH)
JOBS = Startable(contract.JOBS_BUS_NAME, "genv-jobs.service", contract.JOBS_UNIT_PATH, True)


def _is_there(connection: Connection, service: Startable) -> bool:
    (has_owner,) = connection.call_bus(contract.NAME_HAS_OWNER, service.bus_name)
    return bool(has_owner)


def _property(connection: Connection, service: Startable, interface: str, name: str) -> Any:
    """Returns a property of the service's unit, or None if systemd does not reply."""
    try:
        ((_, value),) = connection.call_systemd(service.unit_path, contract.GET, interface, name)
        return value
    except Error:
        return None


def reason_of(result: str, code: int, status: int, status_text: str, restarts: int) -> str:
    """Returns the reason for the failure of a service, as libgenv does. A service that exits by itself can state the
    reason in its status text. That of a crashed service describes the time before."""
    if code == os.CLD_EXITED and status != 0 and status_text:
        reason = status_text
    elif code in (os.CLD_KILLED, os.CLD_DUMPED):
        known = status in set(signal.Signals)
        because = {"watchdog": " because it hung", "oom-kill": " because memory ran out"}.get(result, "")
        reason = f"killed by {signal.Signals(status).name if known else f'signal {status}'}{because}"
    else:
        reason = f"{result}, status {status}"
    return reason + (f", after {restarts} restart{'s' if restarts > 1 else ''}" if restarts else "")


def _require_not_failed(connection: Connection, service: Startable, *, only_configuration: bool = False) -> None:
    if _property(connection, service, contract.UNIT, "ActiveState") != "failed":
        return
    result, code, status, status_text, restarts = (
        _property(connection, service, contract.UNIT_SERVICE, name)
        for name in ("Result", "ExecMainCode", "ExecMainStatus", "StatusText", "NRestarts")
    )
    if only_configuration and status != _EXIT_CONFIGURATION:
        return
    why = reason_of(result or "", code or 0, status or 0, status_text or "", restarts or 0)
    raise ServiceUnavailable(f"{service.unit} has failed: {why}", contract.SPAWN_FAILED)


def require_service(connection: Connection, timeout: float, service: Startable = GENVD) -> None:
    """Starts the service if it is not running, in at most `timeout` seconds.

    Raises ServiceUnavailable with systemd's reason if the start fails. An invalid configuration does not repair itself,
    and systemd limits the rate of starts, so a unit that failed for this reason is not started again. Without systemd,
    the next call starts the service.
    """
    if _is_there(connection, service) or _property(connection, service, contract.UNIT, "LoadState") != "loaded":
        return
    _require_not_failed(connection, service, only_configuration=True)
    if service.is_own:
        connection.call_systemd(contract.SYSTEMD_PATH, contract.START_UNIT, service.unit, "replace")
    until = time.monotonic() + timeout
    has_failed = False
    while True:
        failure: Optional[ServiceUnavailable] = None
        try:
            connection.call_bus(contract.START_SERVICE_BY_NAME, service.bus_name, 0, timeout=_BETWEEN_LOOKS)
            return
        except ServiceUnavailable as error:
            failure = error
        try:
            _require_not_failed(connection, service)
            has_failed = False
        except ServiceUnavailable:
            # A crashed unit has failed for a moment, until systemd restarts it.
            if has_failed or not service.is_own:
                raise
            has_failed = True
            continue
        if _is_there(connection, service):
            return
        if failure.name != NO_REPLY or time.monotonic() >= until:
            raise failure
