# SPDX-License-Identifier: LGPL-2.1-or-later
"""Python interface of genv: the environment of this process (genv.sdk), jobs that run without it (genv.submit()), the
state of the machine (genv.snapshot()), and events (genv.events()).

All functions may be used in every thread, and in processes that are forked or spawned: each operation opens its own
connection and closes it. Every failure is a genv.Error, which is a RuntimeError, with a class for each D-Bus error.
"""

from __future__ import annotations

from genv import contract, core, entities, errors, sdk
from genv.connection import Connection as _Connection
from genv.entities import Device, Devices, Env, Envs, Process, Processes, Report, Snapshot
from genv.errors import (
    AccessDenied,
    AlreadyActive,
    AlreadyExists,
    Busy,
    CannotPark,
    DeviceUnavailable,
    Error,
    Failed,
    InteractiveAuthorizationRequired,
    InvalidArgs,
    LimitsExceeded,
    NoHostMemory,
    NoSuchDevice,
    NoSuchEnvironment,
    NoSuchJob,
    NoSuchProcess,
    NoSuchWait,
    NotActive,
    NotAttached,
    NotEnoughDevices,
    NotParked,
    NotSupported,
    QuotaExceeded,
    ServiceUnavailable,
    StorageFailed,
    Timeout,
)
from genv.guarding import Isolation, RefusedOpen, isolation, refused_opens
from genv.listening import (
    Attached,
    Detached,
    EnvironmentAdded,
    EnvironmentParked,
    EnvironmentRemoved,
    EnvironmentResumed,
    Event,
    Events,
    Notice,
    ProcessTerminated,
    QueueChanged,
    ServiceEnded,
    ServiceStarted,
    events,
)
from genv.notebook import load_ipython_extension, unload_ipython_extension
from genv.parking import ParkedDevice, Parking, park, parking, resume
from genv.queueing import QuotaHold, Taken, Wait, cancel_wait, queue
from genv.serialization import JSONDecoder, JSONEncoder, snapshot_from as _snapshot_from
from genv.service import allow_interaction
from genv.submitted import Job, JobState, JobTask, jobs
from genv.submitting import submit
from genv.usage import ProcessDescription, ProcessUse, Reading, describe_processes, readings
from genv.version import __version__

__all__ = [
    "AccessDenied",
    "AlreadyActive",
    "AlreadyExists",
    "Attached",
    "Busy",
    "CannotPark",
    "Detached",
    "Device",
    "DeviceUnavailable",
    "Devices",
    "Env",
    "EnvironmentAdded",
    "EnvironmentParked",
    "EnvironmentRemoved",
    "EnvironmentResumed",
    "Envs",
    "Error",
    "Event",
    "Events",
    "Failed",
    "InteractiveAuthorizationRequired",
    "InvalidArgs",
    "Isolation",
    "JSONDecoder",
    "JSONEncoder",
    "Job",
    "JobState",
    "JobTask",
    "LimitsExceeded",
    "NoHostMemory",
    "NoSuchDevice",
    "NoSuchEnvironment",
    "NoSuchJob",
    "NoSuchProcess",
    "NoSuchWait",
    "NotActive",
    "NotAttached",
    "NotEnoughDevices",
    "NotParked",
    "NotSupported",
    "Notice",
    "ParkedDevice",
    "Parking",
    "Process",
    "ProcessDescription",
    "ProcessTerminated",
    "ProcessUse",
    "Processes",
    "QueueChanged",
    "QuotaExceeded",
    "QuotaHold",
    "Reading",
    "RefusedOpen",
    "Report",
    "ServiceEnded",
    "ServiceStarted",
    "ServiceUnavailable",
    "Snapshot",
    "StorageFailed",
    "Taken",
    "Timeout",
    "Wait",
    "__version__",
    "allow_interaction",
    "cancel_wait",
    "core",
    "describe_processes",
    "entities",
    "errors",
    "events",
    "isolation",
    "jobs",
    "load_ipython_extension",
    "park",
    "parking",
    "queue",
    "readings",
    "refused_opens",
    "resume",
    "sdk",
    "snapshot",
    "submit",
    "unload_ipython_extension",
]


def snapshot() -> Snapshot:
    """Returns the state of the machine: the environments, the devices with their holders, and the processes that use
    them.

    The service creates the snapshot, which is less than a second old. Raises ServiceUnavailable, and Failed if the
    reply is not a snapshot.
    """
    with _Connection() as connection:
        (text,) = connection.call(contract.MANAGER_PATH, contract.SNAPSHOT)
    try:
        return _snapshot_from(text)
    except ValueError as error:
        raise Failed(f"invalid snapshot of the service: {error}") from error
