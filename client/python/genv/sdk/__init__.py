# SPDX-License-Identifier: LGPL-2.1-or-later
"""The environment of this process, from Python: activate one, configure it, attach devices to it, lock them.

    import genv

    with genv.sdk.activate():
        genv.sdk.attach(gpus=1)
        ...

A process that was started inside an activated shell, or by one that did the above, is in that environment, and all of
this works on it. Every function but active(), eid(), home() and lock() raises NotActive, a RuntimeError, outside of one
and in another user's; NoSuchEnvironment where it has ended; and ServiceUnavailable without the service. What else may go
wrong is a genv.Error.

Devices are named by their indices, and CUDA_VISIBLE_DEVICES of this process is what is attached after each change. CUDA
reads it once, when it is first used: attach before that.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any, ContextManager, List, Optional

from genv import activation, contract, locking, project, service, variables, waiting
from genv.activation import Activation
from genv.connection import Connection
from genv.entities import Env
from genv.errors import Error
from genv.service import Options
from genv.waiting import Span

__all__ = [
    "activate",
    "active",
    "attach",
    "attached",
    "configuration",
    "configure",
    "detach",
    "devices",
    "eid",
    "env",
    "home",
    "job",
    "lingering",
    "load_configuration",
    "lock",
    "parent",
    "refresh_attached",
    "refresh_configuration",
    "save_configuration",
]


def active() -> bool:
    """Whether this process is in an environment. The service is not asked: it may have ended."""
    return eid() is not None


def eid() -> Optional[str]:
    """The id of this process's environment; None outside of one."""
    return variables.environment_id()


def activate(
    *,
    eid: Optional[str] = None,
    config: Optional[Env.Config] = None,
    load: bool = True,
    attach: bool = True,
    allow_over_subscription: bool = False,
    wait: bool = False,
    timeout: Optional[Span] = None,
    lifetime: Optional[Span] = None,
    within: Optional[str] = None,
) -> Activation:
    """An environment for this process: a context manager, whose value is the id, and a decorator.

    eid: joins this environment, which keeps its configuration, or starts one with this id; None: the service chooses.
    config: what the environment wants; None: what is saved in `.genv`, unless `load` is false. Where it has a number of
        GPUs they are attached, unless `attach` is false. What only `.genv` asks for and cannot be had is a warning.
    allow_over_subscription: takes also GPUs that others hold.
    wait: where the GPUs are taken, waits until they are free, at most for `timeout` seconds.
    lifetime: ends the environment after so many seconds.
    within: takes only GPUs of this environment, each for one such environment at a time, and ends with it; the
        environment of the process itself is `eid()`, that of a Slurm job "slurm-JOBID".

    While it is active GENV_PYTHON, GENV_ENVIRONMENT_ID, GENV_ENVIRONMENT_CREATED, GENV_ENVIRONMENT_NAME,
    GENV_GPU_MEMORY, GENV_GPUS, GENV_STATUS_FILE, CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER are set; afterwards each is
    what it was. The environment ends with the last process that activated it.

    Entering raises AlreadyActive in an environment, AlreadyExists for an id of another user, and what attach() raises.
    """
    return Activation(eid, config, load, attach, allow_over_subscription, wait, timeout, lifetime, within)


def configure(config: Env.Config) -> None:
    """Gives the environment this configuration: what is None is unset. What is attached stays.

    Raises InvalidArgs and QuotaExceeded.
    """
    active_eid = activation.require()
    with Connection() as connection:
        activation.current(connection, active_eid)
        activation.configure(connection, active_eid, config)
    activation.refresh(configuration=True)


def configuration() -> Env.Config:
    """The environment's configuration."""
    active_eid = activation.require()
    with Connection() as connection:
        return activation.current(connection, active_eid).configuration()


def refresh_configuration() -> Env.Config:
    """Sets this process's variables to the environment's configuration, which another process may have changed, and
    returns that configuration."""
    return activation.refresh(configuration=True).configuration()


def load_configuration() -> Env.Config:
    """Sets the fields that are saved in home() and returns the environment's configuration. A field without a file
    keeps its value.

    Raises genv.Error if there is no such folder, or if a file in it is invalid.
    """
    active_eid = activation.require()
    saved = project.load(project.require_home())
    with Connection() as connection:
        activation.current(connection, active_eid)
        activation.configure(connection, active_eid, saved, unset=False)
    return refresh_configuration()


def save_configuration() -> None:
    """Saves the environment's configuration to home(), a file for each field. Raises genv.Error where there is none."""
    activation.require()
    project.save(project.require_home(), configuration())


def home() -> Optional[Path]:
    """The folder with the saved configuration: `.genv` in the working folder, else in the home folder, else None."""
    folder = project.home()
    return None if folder is None else Path(folder)


def attach(
    *,
    index: Optional[int] = None,
    gpus: Optional[int] = None,
    allow_over_subscription: bool = False,
    uuid: Optional[str] = None,
    model: Optional[str] = None,
    wait: bool = False,
    timeout: Optional[Span] = None,
    lifetime: Optional[Span] = None,
) -> List[int]:
    """Attaches devices, all of them or none, and returns the indices of everything that is attached.

    One of index, uuid and gpus, a number of devices, which is the configured one by default. What is attached already
    counts, and stays also where it is more. With gpus or index, `model` is a part of the model's name.
    Without any of these and without a configured number, nothing is attached.
    allow_over_subscription: takes also GPUs that others hold.
    wait: where they are taken, waits until they are free, at most for `timeout` seconds. Ctrl-C ends the wait, and a
        restart of the service does not.
    lifetime: gives these devices back after so many seconds.

    Raises DeviceUnavailable, NotEnoughDevices, NoSuchDevice, QuotaExceeded, Timeout, LimitsExceeded and InvalidArgs.
    """
    active_eid = activation.require()
    if all(option is None for option in (index, gpus, uuid, model, lifetime)) and configuration().gpus is None:
        return refresh_attached()
    options: Options = {}
    for name, signature, value in (
        ("index", "u", index),
        ("count", "u", gpus),
        ("uuid", "s", uuid),
        ("model", "s", model),
    ):
        if value is not None:
            options[name] = service.variant(signature, value, name)
    if index is None and uuid is None:
        # An older service detaches what is more.
        options["at-least"] = ("b", True)
    if allow_over_subscription:
        options["over-subscribe"] = ("b", True)
    if lifetime is not None:
        options["lifetime"] = service.variant("t", waiting.seconds(lifetime, "lifetime"), "lifetime")
    if wait:
        options["wait"] = ("b", True)
    left = waiting.TimeLeft(timeout)
    with Connection() as connection:
        activation.current(connection, active_eid)

    def arguments() -> Any:
        return (left.put_into(options),)

    try:
        (indices,) = waiting.call_environment(active_eid, contract.ATTACH, arguments)
    except Error:
        raise
    except BaseException:
        # A grant may cross Ctrl-C on its way.
        with contextlib.suppress(Error):
            activation.refresh(devices=True)
        raise
    activation.refresh(devices=True)
    return sorted(indices)


def attached() -> List[int]:
    """The indices of what is attached."""
    active_eid = activation.require()
    with Connection() as connection:
        return activation.current(connection, active_eid).devices


def lingering() -> bool:
    """Whether no shell or program is registered with the environment any more, and only processes that still use its
    GPUs, such as this one, keep those."""
    active_eid = activation.require()
    with Connection() as connection:
        return activation.current(connection, active_eid).lingering


def job() -> Optional[str]:
    """The number of the Slurm job that the environment is; None where it is no job's."""
    active_eid = activation.require()
    with Connection() as connection:
        return activation.current(connection, active_eid).job


def parent() -> Optional[str]:
    """The id of the environment that this one is within; None where it is within none."""
    active_eid = activation.require()
    with Connection() as connection:
        return activation.current(connection, active_eid).parent


def detach(index: Optional[int] = None) -> List[int]:
    """Gives the device with this index back, or all of them, and returns the indices of what is left."""
    active_eid = activation.require()
    indices = [] if index is None else [service.variant("u", index, "index")[1]]
    with Connection() as connection:
        activation.current(connection, active_eid)
        (left,) = service.about_environment(connection, active_eid, contract.DETACH, indices)
    activation.refresh(devices=True)
    return sorted(left)


def refresh_attached() -> List[int]:
    """Sets CUDA_VISIBLE_DEVICES to the attached devices, which an administrator, a rule or another process may have
    changed, and returns their indices."""
    return activation.refresh(devices=True).devices


def lock() -> ContextManager[None]:
    """Every attached device exclusively, among those who share them and lock, first come first served.

    A context manager. Which devices are locked is fixed when it is entered. In a thread that has the lock it does
    nothing more, and neither does it outside an environment or without devices.
    """
    return locking.Held(eid())


# Last, since they take their functions from here.
from genv.sdk import devices, env  # noqa: E402
