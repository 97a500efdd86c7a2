# SPDX-License-Identifier: LGPL-2.1-or-later
"""The lock of a single device, for programs written for genv 1. New programs use genv.sdk.lock()."""

from __future__ import annotations

import contextlib
from typing import Iterator, Optional

from genv import sdk
from genv.errors import NotAttached

__all__ = ["lock"]


@contextlib.contextmanager
def lock(index: Optional[int] = None) -> Iterator[None]:
    """Locks the device with this index, which must be attached to the environment of this process.

    The service locks all devices of an environment together. After checking the index, this function therefore does the
    same as genv.sdk.lock(). Without an index, it is the same as genv.sdk.lock().

    With an index, it raises NotActive, NoSuchEnvironment and NotAttached.
    """
    if index is not None and index not in sdk.attached():
        raise NotAttached(f"environment {sdk.eid()} is not attached to device {index}")
    with sdk.lock():
        yield
