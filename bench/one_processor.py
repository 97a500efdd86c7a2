# SPDX-License-Identifier: LGPL-2.1-or-later
"""Keeps the measured program, the bus and the service on one processor, because they wait for each other anyway.
Otherwise the time depends on which of them the kernel places on the same processor, and two series may differ by
chance."""

import contextlib
import os

from private_service import BUS_FOLDER


def pin(pid, processors):
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            os.sched_setaffinity(int(thread), processors)
    except (FileNotFoundError, ProcessLookupError):
        pass  # a process that ends meanwhile need not be pinned


def daemons():
    for name in ("bus.pid", "polkitd.pid"):
        with open(os.path.join(BUS_FOLDER, name), encoding="ascii") as file:
            yield int(file.read())


@contextlib.contextmanager
def one_processor(service):
    """Keeps all processes on one processor within the with statement, including new ones."""
    processes = [os.getpid(), service.process.pid, *daemons()]
    before = os.sched_getaffinity(0)
    for pid in processes:
        pin(pid, {min(before)})
    try:
        yield
    finally:
        for pid in processes:
            pin(pid, before)
