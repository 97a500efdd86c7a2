# SPDX-License-Identifier: LGPL-2.1-or-later
"""Warnings about GPUs that something outside genv uses: the service reports them before it replies to a request."""

from __future__ import annotations

import pwd
import warnings
from typing import Any, Dict, Tuple

from genv import contract
from genv.connection import Connection

_KIND = "device-occupied"
# From warn() through the calls that wait and attach() to the caller.
_CALLER = 6


def listen(connection: Connection) -> None:
    """Subscribes to the reports. Call this before the request."""
    connection.add_match(
        f"type='signal',sender='{contract.BUS_NAME}',interface='{contract.MANAGER}',"
        f"path='{contract.MANAGER_PATH}',member='Notice'"
    )


def warn(connection: Connection, eid: str) -> None:
    """Warns of the reports about an environment that have arrived, as genvctl does."""
    owner = None
    while True:
        signal = connection.next_signal(0.0)
        if signal is None:
            return
        if signal.member != "Notice" or signal.signature != contract.SIGNALS["Notice"]:
            continue
        _, kind, about, details = signal.body
        if (kind, about) != (_KIND, eid) or "device" not in details:
            continue
        # Anyone can send a signal directly to this connection.
        if owner is None:
            (owner,) = connection.call_bus(contract.GET_NAME_OWNER, contract.BUS_NAME)
        if signal.sender == owner:
            warnings.warn(
                f"GPU {details['device'][1]} is attached, but {_use(details)}", RuntimeWarning, stacklevel=_CALLER
            )


def _use(details: Dict[str, Tuple[str, Any]]) -> str:
    if "pid" in details and "owner" in details:
        return f"process {details['pid'][1]} of {_name(details['owner'][1])} still uses it"
    if "unaccounted-memory" in details:
        return f"it has {details['unaccounted-memory'][1] / 2**30:.0f} GiB in use by no process"
    return "a process outside its environments still uses it"


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"
