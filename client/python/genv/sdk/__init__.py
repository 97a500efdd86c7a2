# SPDX-License-Identifier: LGPL-2.1-or-later
"""The environment of this process: activate one, configure it, attach devices to it, and lock them.

    import genv

    with genv.sdk.activate():
        genv.sdk.attach(gpus=1)
        ...

A process that was started in an activated shell, or by a process as above, is in that environment, and all functions of
this module work on it. Every function except active(), eid(), home() and lock() raises NotActive, a RuntimeError,
outside an environment and in an environment of another user. They raise NoSuchEnvironment if the environment has ended,
and ServiceUnavailable without the service. All other failures are a genv.Error.

Devices are named by their indices. After each change, CUDA_VISIBLE_DEVICES of this process contains the attached
devices. CUDA reads the variable once, at its first use: attach devices before that.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any, ContextManager, List, Optional, Union

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
    "over_subscribable",
    "parent",
    "preemptible",
    "refresh_attached",
    "refresh_configuration",
    "save_configuration",
    "set_over_subscribable",
    "set_preemptible",
]


def active() -> bool:
    """Returns whether this process is in an environment. Does not call the service: the environment may have ended."""
    return eid() is not None


def eid() -> Optional[str]:
    """Returns the id of this process's environment, or None."""
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
    over_subscribable: bool = False,
    priority: int = 0,
    preemptible: Union[bool, str] = False,
) -> Activation:
    """Starts or joins an environment for this process: a context manager, whose value is the id, and a decorator.

    eid: the environment to join, which keeps its configuration, or the id of a new one. None: the service chooses an
        id.
    config: the configuration of the environment. None: the one saved in `.genv`, unless `load` is false. If it contains
        a number of GPUs, they are attached, unless `attach` is false. If only `.genv` requests GPUs and they are not
        available, this is a warning.
    allow_over_subscription: may also attach GPUs that others hold. Other users must consent, or an administrator must.
    over_subscribable: lets other users share the GPUs of the new environment.
    preemptible: lends the GPUs: a request that finds too few free GPUs parks the new environment (True or "park"), and
        ends it where it cannot be parked ("end").
    wait: if GPUs are attached, waits in the queue until they are free, for at most `timeout` seconds.
    priority: the place of the request among your own that wait, from -100 to 100; higher ones come first.
    lifetime: the number of seconds after which the environment ends.
    within: the id of the parent environment. The new environment attaches only GPUs of its parent, and ends with it.
        Only one child at a time may hold each GPU. Pass `eid()` for the environment of the process itself, or
        "slurm-JOBID" for that of a Slurm job.

    While the environment is active, GENV_PYTHON, GENV_ENVIRONMENT_ID, GENV_ENVIRONMENT_CREATED, GENV_ENVIRONMENT_NAME,
    GENV_GPU_MEMORY, GENV_GPUS, GENV_STATUS_FILE, CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER are set. Afterwards, each
    variable has its previous value. The environment ends with the last process that activated it.

    Entering raises AlreadyActive in an environment, AlreadyExists for an id of another user, and all errors of
    attach().
    """
    return Activation(
        eid,
        config,
        load,
        attach,
        allow_over_subscription,
        wait,
        timeout,
        lifetime,
        within,
        over_subscribable,
        priority,
        preemptible,
    )


def configure(config: Env.Config) -> None:
    """Sets the configuration of the environment. A field that is None is unset. Attached devices stay attached.

    Raises InvalidArgs and QuotaExceeded.
    """
    active_eid = activation.require()
    with Connection() as connection:
        activation.current(connection, active_eid)
        activation.configure(connection, active_eid, config)
    activation.refresh(configuration=True)


def configuration() -> Env.Config:
    """Returns the configuration of the environment."""
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
    """Saves the environment's configuration to home(), one file for each field. Raises genv.Error if there is no
    such folder."""
    activation.require()
    project.save(project.require_home(), configuration())


def home() -> Optional[Path]:
    """Returns the folder with the saved configuration: `.genv` in the working folder, else in the home folder, else
    None."""
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
    priority: int = 0,
    preemptible: Union[bool, str, None] = None,
) -> List[int]:
    """Attaches devices, all of them or none, and returns the indices of all attached devices.

    Pass one of `index`, `uuid` and `gpus`, a number of devices, which defaults to the configured number. Devices that
    are already attached count, and stay attached if there are more. With `gpus` or `index`, `model` is a part of the
    model name. Without any of these and without a configured number, nothing is attached.
    allow_over_subscription: may also attach GPUs that others hold. Other users must consent, or an administrator must.
        With `wait`, the call waits for a free GPU or for consent.
    wait: waits in the queue until the devices are free, for at most `timeout` seconds. Ctrl-C cancels the wait; a
        restart of the service does not.
    priority: the place of the request among your own that wait, from -100 to 100; higher ones come first.
    lifetime: the number of seconds after which these devices are detached.
    preemptible: lends all GPUs of the environment from now on, as in activate(), or no longer (False).

    Raises DeviceUnavailable, NotEnoughDevices, NoSuchDevice, QuotaExceeded, Timeout, LimitsExceeded and InvalidArgs.
    """
    active_eid = activation.require()
    if (
        all(option is None for option in (index, gpus, uuid, model, lifetime, preemptible))
        and configuration().gpus is None
    ):
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
    if allow_over_subscription:
        options["over-subscribe"] = ("b", True)
    if preemptible is not None:
        options["preemptible"] = service.preemptible(preemptible)
    if lifetime is not None:
        options["lifetime"] = service.variant("t", waiting.seconds(lifetime, "lifetime"), "lifetime")
    if wait:
        options.update(waiting.WAIT)
        options["priority"] = service.variant("i", priority, "priority")
    left = waiting.RemainingTime(timeout)
    with Connection() as connection:
        activation.current(connection, active_eid)

    def arguments() -> Any:
        return (left.put_into(options),)

    try:
        (indices,) = waiting.call_environment(active_eid, contract.ATTACH, arguments, left)
    except Error:
        raise
    except BaseException:
        # A grant may arrive after Ctrl-C.
        with contextlib.suppress(Error):
            activation.refresh(devices=True)
        raise
    activation.refresh(devices=True)
    return sorted(indices)


def attached() -> List[int]:
    """Returns the indices of the attached devices."""
    active_eid = activation.require()
    with Connection() as connection:
        return activation.current(connection, active_eid).devices


def lingering() -> bool:
    """Returns whether no shell or program is registered with the environment any more. Its GPUs are then kept only
    by processes that still use them, such as this one."""
    active_eid = activation.require()
    with Connection() as connection:
        return activation.current(connection, active_eid).lingering


def job() -> Optional[str]:
    """Returns the number of the Slurm job of the environment, or None if it is not the environment of a job."""
    active_eid = activation.require()
    with Connection() as connection:
        return activation.current(connection, active_eid).job


def parent() -> Optional[str]:
    """Returns the id of the environment's parent, or None if it has no parent."""
    active_eid = activation.require()
    with Connection() as connection:
        return activation.current(connection, active_eid).parent


def over_subscribable() -> bool:
    """Returns whether other users may share the GPUs of the environment."""
    active_eid = activation.require()
    with Connection() as connection:
        return activation.current(connection, active_eid).over_subscribable


def set_over_subscribable(allowed: bool) -> None:
    """Lets other users share the GPUs of the environment, or no longer. Those who share a GPU already keep it."""
    active_eid = activation.require()
    with Connection() as connection:
        activation.current(connection, active_eid)
        service.about_environment(
            connection, active_eid, contract.CONFIGURE, {"over-subscribable": ("b", bool(allowed))}, []
        )


def preemptible() -> str:
    """Returns whether the GPUs of the environment are on loan: "no", "park" or "end", as in activate()."""
    active_eid = activation.require()
    with Connection() as connection:
        return activation.current(connection, active_eid).preemptible


def set_preemptible(kind: Union[bool, str]) -> None:
    """Lends the GPUs of the environment, as in activate(), or no longer (False)."""
    active_eid = activation.require()
    option = service.preemptible(kind)
    with Connection() as connection:
        activation.current(connection, active_eid)
        service.about_environment(connection, active_eid, contract.CONFIGURE, {"preemptible": option}, [])


def detach(index: Optional[int] = None) -> List[int]:
    """Detaches the device with this index, or all devices, and returns the indices of those still attached."""
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
    """Locks all attached devices: exclusive use among the programs that share and lock them, in the order of the
    requests.

    A context manager. The set of devices is fixed when it is entered. It has no effect in a thread that already has the
    lock, outside an environment, and without devices.
    """
    return locking.Held(eid())


# Imported last, because these modules import functions from this one.
from genv.sdk import devices, env  # noqa: E402
