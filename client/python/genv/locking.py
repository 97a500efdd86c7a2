# SPDX-License-Identifier: LGPL-2.1-or-later
"""The lock of an environment's devices: a file descriptor. The lock is released when every copy of it is closed.

A forked child closes its copies at once. Otherwise, a lock of the parent would last as long as its longest-lived child.
Programs executed by this process do not inherit the lock either.
"""

from __future__ import annotations

import os
import threading
from typing import Optional, Set

from genv import activation, contract, waiting
from genv.connection import Connection
from genv.errors import NoSuchEnvironment, NotActive, NotAttached

_held: Set[int] = set()


class _Depth(threading.local):
    depth = 0


_in_this_thread = _Depth()


def _close_inherited() -> None:
    while _held:
        os.close(_held.pop())
    _in_this_thread.depth = 0


os.register_at_fork(after_in_child=_close_inherited)


def _acquire(eid: str) -> Optional[int]:
    try:
        with Connection() as connection:
            activation.current(connection, eid)
    except (NoSuchEnvironment, NotActive):
        return None  # it has ended or belongs to another user
    try:
        (descriptor,) = waiting.call_environment(eid, contract.LOCK)
    except NotAttached:
        return None
    _held.add(descriptor)
    return int(descriptor)


def _release(descriptor: int) -> None:
    if descriptor in _held:  # a forked child has already closed it
        _held.discard(descriptor)
        os.close(descriptor)


class Held:
    """Holds exclusive use of all devices of the environment, as a context manager. It excludes only callers that lock.

    In a thread that already has the lock, it has no effect. An `eid` of None and an environment without devices need no
    lock.
    """

    def __init__(self, eid: Optional[str]) -> None:
        self._eid = eid
        self._descriptor: Optional[int] = None
        self._counts = False

    def __enter__(self) -> None:
        if self._eid is not None and _in_this_thread.depth == 0:
            self._descriptor = _acquire(self._eid)
        self._counts = self._descriptor is not None or _in_this_thread.depth > 0
        if self._counts:
            _in_this_thread.depth += 1

    def __exit__(self, *_: object) -> None:
        if self._counts:
            _in_this_thread.depth = max(0, _in_this_thread.depth - 1)
        if self._descriptor is not None:
            _release(self._descriptor)
            self._descriptor = None
