# SPDX-License-Identifier: LGPL-2.1-or-later
"""Keeps what is measured, the bus and the service on one processor, where one waits for the other anyway. Else how long
something takes depends on which of them the kernel happens to let share one, and two series may meet different luck."""

import contextlib
import os

from private_service import BUS_FOLDER


def pin(pid, processors):
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            os.sched_setaffinity(int(thread), processors)
    except (FileNotFoundError, ProcessLookupError):
        pass  # what ends meanwhile need not be pinned


def daemons():
    for name in ("bus.pid", "polkitd.pid"):
        with open(os.path.join(BUS_FOLDER, name), encoding="ascii") as file:
            yield int(file.read())


@contextlib.contextmanager
def one_processor(service):
    """Within it everything shares a processor, also what is started there."""
    processes = [os.getpid(), service.process.pid, *daemons()]
    before = os.sched_getaffinity(0)
    for pid in processes:
        pin(pid, {min(before)})
    try:
        yield
    finally:
        for pid in processes:
            pin(pid, before)
