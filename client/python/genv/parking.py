# SPDX-License-Identifier: LGPL-2.1-or-later
"""Parking: the GPU memory of an environment's processes moves to host memory, and its GPUs are free for others until it
resumes.

The processes are not told. Their calls of CUDA wait while they are parked; everything else in them goes on, so a process
can park its own environment.
"""

from __future__ import annotations

import contextlib
from typing import Any, List, Optional, Tuple

from genv import activation, contract, service, waiting
from genv.connection import Connection
from genv.errors import Error, InvalidArgs, NotParked
from genv.service import Options, ParkedDevice, Parking
from genv.waiting import Span

__all__ = ["ParkedDevice", "Parking", "park", "parking", "resume"]


def _chosen(eid: Optional[str]) -> str:
    """Returns the id of an environment, by default of the one of this process."""
    if eid is not None:
        if not isinstance(eid, str) or not contract.is_identifier(eid):
            raise InvalidArgs(f"invalid eid {eid!r}: expected the id of an environment")
        return eid
    own = activation.require()
    with Connection() as connection:
        activation.current(connection, own)
    return own


def _refresh(eid: Optional[str]) -> None:
    if eid is None:
        activation.refresh(devices=True)


def parking(eid: Optional[str] = None) -> Parking:
    """Returns whether an environment is parked, by default the one of this process.

    Raises NoSuchEnvironment, and NotActive outside an environment.
    """
    if eid is None:
        own = activation.require()
        with Connection() as connection:
            return activation.current(connection, own).parking
    with Connection() as connection:
        return service.environment(connection, _chosen(eid)).parking


def park(eid: Optional[str] = None) -> Parking:
    """Parks an environment, by default the one of this process: moves the GPU memory of its processes to host memory and
    detaches its GPUs, which are free for others then. Returns how it is parked. Ctrl-C undoes it.

    Raises CannotPark, NoHostMemory, NotAttached and NotSupported. In these cases, its processes go on.
    """
    chosen = _chosen(eid)
    no_options: Options = {}
    waiting.call_environment(chosen, contract.PARK, lambda: (no_options,))
    _refresh(eid)
    return parking(eid)


def resume(
    eid: Optional[str] = None, *, wait: bool = False, timeout: Optional[Span] = None, priority: int = 0
) -> List[int]:
    """Lets a parked environment go on, by default the one of this process, on the same GPUs. Returns the indices of its
    devices.

    wait: waits in the queue until the GPUs are free, for at most `timeout` seconds. Ctrl-C cancels the wait. Once the
        GPUs are granted, the environment resumes in any case.
    priority: the place of the request among your own that wait, from -100 to 100; higher ones come first.

    Raises NotParked, DeviceUnavailable, QuotaExceeded, Timeout and InvalidArgs.
    """
    chosen = _chosen(eid)
    options: Options = {}
    if wait:
        options.update(waiting.WAIT)
        options["priority"] = service.variant("i", priority, "priority")
    left = waiting.RemainingTime(timeout)
    attempts = 0

    def arguments() -> Tuple[Any, ...]:
        nonlocal attempts
        attempts += 1
        return (left.put_into(options),)

    try:
        (indices,) = waiting.call_environment(chosen, contract.RESUME, arguments, left)
    except NotParked:
        # A service that ended before its reply has resumed the environment.
        if attempts < 2:
            raise
        with Connection() as connection:
            indices = service.environment(connection, chosen).devices
    except Error:
        raise
    except BaseException:
        # A grant may arrive after Ctrl-C.
        with contextlib.suppress(Error):
            _refresh(eid)
        raise
    _refresh(eid)
    return sorted(indices)
