# SPDX-License-Identifier: LGPL-2.1-or-later
"""Jobs that were submitted: handles, descriptions, and the list of all.

They belong to genv-jobs, a program of the user on this machine, which the first call starts. A handle is a number and
the id of the machine, so it may be pickled; on another machine its functions raise NoSuchJob.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

from genv import cluster, contract, starting
from genv.address import user_bus_sockets
from genv.connection import DEFAULT_TIMEOUT, Connection
from genv.errors import NO_REPLY, InvalidArgs, NoSuchJob, ServiceUnavailable, Timeout
from genv.service import local_time, values_of
from genv.waiting import RemainingTime, Span

_ENDED = frozenset({"done", "failed", "lost", "canceled"})
_MACHINE_ID = "/etc/machine-id"
# How often a question is asked again. A genv-jobs that crashes more often is not started any more.
_MAX_CRASHES = 5


class Link(Connection):
    """A connection to the bus of the user."""

    def __init__(self) -> None:
        cluster.require_this_machine("genvctl --json jobs")
        try:
            super().__init__(sockets=user_bus_sockets())
        except ServiceUnavailable as error:
            raise ServiceUnavailable(
                f"jobs need systemd's user manager: {error}", error.name
            ) from error

    def call_jobs(self, method: contract.Method, *arguments: Any) -> Any:
        """Calls genv-jobs, and starts it if it does not run. Returns the first value of the reply."""
        starting.require_service(self, DEFAULT_TIMEOUT, starting.JOBS)
        reply = self._call(contract.JOBS_BUS_NAME, contract.JOBS_PATH, method, arguments, None, False)
        return reply[0]

    def ask_jobs(self, method: contract.Method, *arguments: Any) -> Any:
        """Makes a call that changes nothing, again if genv-jobs ended before it answered."""
        for _ in range(_MAX_CRASHES):
            try:
                return self.call_jobs(method, *arguments)
            except ServiceUnavailable as error:
                if error.name != NO_REPLY:
                    raise
        return self.call_jobs(method, *arguments)

    def listen(self) -> None:
        """Subscribes to changes of jobs, and of genv-jobs itself."""
        self.add_match(
            f"type='signal',sender='{contract.JOBS_BUS_NAME}',path='{contract.JOBS_PATH}',member='JobChanged'"
        )
        self.add_match(
            f"type='signal',sender='{contract.BUS_DRIVER}',interface='{contract.BUS_DRIVER}',"
            f"member='NameOwnerChanged',arg0='{contract.JOBS_BUS_NAME}'"
        )


def _machine_id() -> str:
    try:
        return Path(_MACHINE_ID).read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


@dataclass(frozen=True)
class JobTask:
    """A task of a job. A job that is not an array has one task, with the number 0."""

    number: int
    #: The value of the task in its array; "" if the job is not an array.
    value: str
    #: "waiting", "held", "running", "done", "failed", "lost" or "canceled".
    state: str
    #: Why it waits, or how it ended.
    reason: str
    #: How often it was started.
    attempts: int
    #: The id of its environment while it waits for GPUs or runs, else None.
    eid: Optional[str]
    #: The UUIDs of its GPUs.
    devices: Tuple[str, ...]
    started: Optional[datetime]
    ended: Optional[datetime]
    #: The exit status, 128 + N after signal N, or None.
    status: Optional[int]
    #: Seconds on GPUs, one after the other.
    gpu_seconds: int
    #: The most GPU memory that was seen, in bytes.
    peak_memory: int
    #: The path of the output.
    log: str


@dataclass(frozen=True)
class JobState:
    """A job at one moment."""

    job: "Job"
    name: Optional[str]
    #: "waiting", "held", "running", "done", "failed", "lost" or "canceled".
    state: str
    #: Why it waits, or how it ended.
    reason: str
    #: The local time at which it is expected to start, if that is known.
    expected_start: Optional[datetime]
    #: Its command, shortened.
    command: str
    #: The number of GPUs of each task.
    gpus: int
    is_array: bool
    #: The number of tasks, in all and in each state. Lost tasks have failed.
    tasks: int
    waiting: int
    running: int
    done: int
    failed: int
    canceled: int
    submitted: Optional[datetime]
    started: Optional[datetime]
    ended: Optional[datetime]
    #: The exit status of the worst task, 128 + N after signal N, or None.
    status: Optional[int]

    @property
    def has_ended(self) -> bool:
        """Whether nothing of it waits or runs."""
        return self.state in _ENDED


@dataclass(frozen=True)
class Job:
    """A handle of a job. Each function asks genv-jobs, and raises NoSuchJob if there is no such job on this machine."""

    number: int
    #: The id of the machine that has the job.
    machine: str = field(default_factory=_machine_id, repr=False)

    def describe(self) -> JobState:
        """Returns the job as it is now."""
        with self._link() as link:
            return state_of(link.ask_jobs(contract.GET_JOB, self.number))

    @property
    def state(self) -> str:
        """ "waiting", "held", "running", "done", "failed", "lost" or "canceled"."""
        return self.describe().state

    def tasks(self, *numbers: int) -> List[JobTask]:
        """Returns these tasks as they are now, or all."""
        with self._link() as link:
            return [_task(row) for row in link.ask_jobs(contract.LIST_JOB_TASKS, self.number, list(numbers))]

    def wait(self, timeout: Optional[Span] = None) -> int:
        """Waits until the job has ended. Returns 0 if every task is done, else the exit status of the worst one:
        128 + N after signal N, and 1 if it was lost or canceled. Raises Timeout after `timeout` seconds."""
        remaining = RemainingTime(timeout)
        with self._link() as link:
            link.listen()
            while True:
                state = state_of(link.ask_jobs(contract.GET_JOB, self.number))
                if state.has_ended:
                    return 0 if state.state == "done" else (state.status or 1)
                left = remaining.left()
                if left is not None and left <= 0:
                    raise Timeout(f"job {self.number} has not ended: it is {state.state}")
                link.next_signal(left)

    def log(self, task: Optional[int] = None) -> str:
        """Returns what the job has written so far. For an array, give the number of a task."""
        found = self.tasks(*([] if task is None else [task]))
        if len(found) != 1:
            raise InvalidArgs(f"job {self.number} has {len(found)} tasks: expected the number of one")
        try:
            return Path(found[0].log).read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return ""

    def cancel(self, *tasks: int) -> int:
        """Ends these tasks, or all: those that wait never start. Returns how many it concerns."""
        return self._change(contract.CANCEL_JOB, tasks)

    def hold(self, *tasks: int) -> int:
        """Keeps these tasks, or all, from starting. Returns how many it concerns."""
        return self._change(contract.HOLD_JOB, tasks)

    def release(self, *tasks: int) -> int:
        """Ends the effect of hold(). Returns how many tasks it concerns."""
        return self._change(contract.RELEASE_JOB, tasks)

    def requeue(self, *tasks: int) -> int:
        """Lets these tasks run again, and ends them first if they run. Without tasks: those that did not succeed; else
        those that run; else all. Returns how many it concerns."""
        return self._change(contract.REQUEUE_JOB, tasks)

    def _change(self, method: contract.Method, tasks: Tuple[int, ...]) -> int:
        with self._link() as link:
            return int(link.call_jobs(method, self.number, list(tasks)))

    def _link(self) -> Link:
        if self.machine != _machine_id():
            raise NoSuchJob(f"job {self.number} belongs to another machine: {self.machine}")
        return Link()


def jobs(*, everything: bool = False) -> List[JobState]:
    """Returns the user's jobs on this machine, by number: those that wait or run, and those that ended within a day.

    everything: also those that ended earlier.
    """
    with Link() as link:
        return [state_of(row) for row in link.ask_jobs(contract.LIST_JOBS, {"all": ("b", everything)})]


_TASK_SIGNATURES = {
    "number": "u", "value": "ay", "state": "s", "reason": "s", "attempts": "u", "environment": "s", "devices": "as",
    "started": "t", "ended": "t", "status": "i", "gpu-seconds": "t", "peak-memory": "t", "log": "ay",
}  # fmt: skip
_STATE_SIGNATURES = {
    "number": "u", "name": "s", "state": "s", "reason": "s", "expected": "t", "command": "s", "gpus": "u", "array": "b",
    "tasks": "u", "waiting": "u", "running": "u", "done": "u", "failed": "u", "canceled": "u", "submitted": "t",
    "started": "t", "ended": "t", "status": "i",
}  # fmt: skip


def _time(microseconds: int) -> Optional[datetime]:
    return local_time(microseconds) if microseconds else None


def _status(number: int) -> Optional[int]:
    return None if number < 0 else number


def _task(row: Dict[str, Any]) -> JobTask:
    (number, value, state, reason, attempts, eid, devices, started, ended, status, gpu_seconds, peak, log) = values_of(
        row, _TASK_SIGNATURES
    )
    return JobTask(
        number, os.fsdecode(bytes(value)), state, reason, attempts, eid or None, tuple(devices), _time(started),
        _time(ended), _status(status), gpu_seconds, peak, os.fsdecode(bytes(log)),
    )  # fmt: skip


def state_of(row: Dict[str, Any]) -> JobState:
    """Converts a row of genv-jobs. Raises Failed if the row is invalid."""
    (number, name, state, reason, expected, command, gpus, is_array, tasks, waiting, running, done, failed, canceled,
     submitted, started, ended, status) = values_of(row, _STATE_SIGNATURES)  # fmt: skip
    return JobState(
        Job(number), name or None, state, reason, _time(expected), command, gpus, is_array, tasks, waiting, running, done,
        failed, canceled, _time(submitted), _time(started), _time(ended), _status(status),
    )  # fmt: skip
