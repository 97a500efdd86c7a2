# SPDX-License-Identifier: LGPL-2.1-or-later
"""The environment of this process: how it starts, how its variables stay up to date, and how it ends.

A process has at most one environment, shared by all its threads. A forked child belongs to its parent's environment and
never ends it.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import threading
import warnings
from types import TracebackType
from typing import Any, Callable, Optional, Tuple, Type, TypeVar, Union, cast

from genv import contract, project, service, variables, waiting
from genv.connection import Connection
from genv.entities import Env
from genv.errors import AlreadyActive, AlreadyExists, Error, NoSuchEnvironment, NotActive, ServiceUnavailable
from genv.service import EnvironmentState, Options
from genv.waiting import Span

Function = TypeVar("Function", bound=Callable[..., Any])


class _Process:
    """The state that exists once in a process."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        # True from the start of an activation until its environment has been left.
        self.activated = False
        # When the environment of this process was created. A later environment with the same id has another time.
        self.created: Optional[int] = None


_process = _Process()


def _after_fork() -> None:
    _process.lock = threading.RLock()
    # An activation that another thread of the parent had only begun does not belong to this process.
    _process.activated = _process.activated and variables.environment_id() is not None


os.register_at_fork(after_in_child=_after_fork)


def require() -> str:
    """Returns the id of this process's environment. Raises NotActive."""
    eid = variables.environment_id()
    if eid is None:
        raise NotActive("Not running in an active environment")
    return eid


def current(connection: Connection, eid: str) -> EnvironmentState:
    """Returns the environment of this process.

    Raises NoSuchEnvironment if it has ended, even if a new environment has its id. Raises NotActive if it belongs to
    another user, because variables can be passed from one user to another, for example by sudo -E.
    """
    environment = service.environment(connection, eid)
    stamp = variables.stamp()
    if stamp not in (None, str(environment.created)) or _process.created not in (None, environment.created):
        raise service.gone(eid)
    uid = service.own_user(connection)
    if environment.uid != uid:
        raise NotActive(
            f"Not running in an active environment: environment {eid} belongs to uid {environment.uid}, not to uid {uid}; "
            f'to act on it, name it: "genvctl devices attach --eid {eid}"'
        )
    return environment


# A shell may still have the id of an environment that has ended.
def _is_active() -> bool:
    eid = variables.environment_id()
    if eid is None:
        return False
    try:
        with Connection() as connection:
            current(connection, eid)
            return True
    except (NoSuchEnvironment, NotActive):
        return False


# In a Slurm job, CUDA has other indices, so nested environments use UUIDs.
def _visible(connection: Connection, environment: EnvironmentState) -> str:
    return service.visible_devices(connection, environment.devices, environment.parent is not None)


def refresh(*, devices: bool = False, configuration: bool = False) -> EnvironmentState:
    """Updates the variables of this process to the present state of its environment, and returns the environment.

    Threads do this one after the other, and each uses the state that it has just read. The newest state therefore wins.
    """
    eid = require()
    with _process.lock, Connection() as connection:
        environment = current(connection, eid)
        if devices and environment.job is None:  # in a Slurm job, Slurm sets the variable
            variables.put(variables.of_devices(_visible(connection, environment)))
        if configuration:
            variables.put(variables.of_configuration(environment))
        return environment


def _options(config: Env.Config) -> Options:
    options: Options = {}
    if config.name is not None:
        options["name"] = service.variant("s", config.name, "name")
    if config.gpus is not None:
        options["gpus"] = service.variant("u", config.gpus, "gpus")
    if config.gpu_memory is not None:
        options["gpu-memory"] = service.memory_variant(config.gpu_memory, "gpu_memory")
    return options


def configure(connection: Connection, eid: str, config: Env.Config, *, unset: bool = True) -> None:
    """Sets the configuration of an environment. A field that is None is unset, or kept if `unset` is false."""
    options = _options(config)
    missing = [name for name in ("name", "gpus", "gpu-memory") if unset and name not in options]
    service.about_environment(connection, eid, contract.CONFIGURE, options, missing)


# An invalid .genv folder must not prevent an environment from starting.
def _project_configuration() -> Env.Config:
    try:
        folder = project.home()
        return Env.Config() if folder is None else project.load(folder)
    except Error as error:
        warnings.warn(str(error), RuntimeWarning, stacklevel=5)
        return Env.Config()


class Activation:
    """An environment of this process, as a context manager or a decorator. Created by genv.sdk.activate()."""

    def __init__(
        self,
        eid: Optional[str],
        config: Optional[Env.Config],
        load: bool,
        attach: bool,
        allow_over_subscription: bool,
        wait: bool,
        timeout: Optional[Span],
        lifetime: Optional[Span],
        within: Optional[str] = None,
        over_subscribable: bool = False,
        priority: int = 0,
        preemptible: Union[bool, str] = False,
    ) -> None:
        self._arguments = (
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
        self._eid = eid
        self._config = config
        self._load = load
        self._attach = attach
        self._over_subscribe = allow_over_subscription
        self._wait = wait
        self._timeout = timeout
        self._lifetime = lifetime
        self._within = within
        self._over_subscribable = over_subscribable
        self._priority = priority
        self._preemptible = preemptible
        self._active: Optional[str] = None
        self._before: variables.Values = {}

    def __call__(self, function: Function) -> Function:
        """Wraps a function so that each call gets its own environment."""
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError("cannot decorate a generator; use genv.sdk.activate() as a context manager in it")
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def inside(*arguments: Any, **named: Any) -> Any:
                with Activation(*self._arguments):
                    return await function(*arguments, **named)

            return cast(Function, inside)

        @functools.wraps(function)
        def plainly_inside(*arguments: Any, **named: Any) -> Any:
            with Activation(*self._arguments):
                return function(*arguments, **named)

        return cast(Function, plainly_inside)

    def __enter__(self) -> str:
        """Starts or joins the environment, and returns its id."""
        with _process.lock:
            # If `within` is set, this process may be in an environment, because the new one can be nested in it.
            if _process.activated or (self._within is None and _is_active()):
                raise AlreadyActive("Already running in an active environment")
            _process.activated = True
        try:
            eid = self._begin()
            try:
                self._enter(eid)
            except BaseException:
                self._leave_quietly(eid)
                raise
        except BaseException:
            _process.activated = False
            raise
        return eid

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        """Leaves the environment, which ends with its last process, and restores every variable."""
        eid, self._active = self._active, None
        if eid is None:
            return
        try:
            self._leave_quietly(eid)  # a forked child is not a root process of it
        finally:
            with _process.lock:
                _process.created = None
                _process.activated = False
                variables.put(self._before)

    # -- starting

    def _begin(self) -> str:
        if self._eid is not None:
            service.variant("s", self._eid, "eid")
        if self._eid is not None and self._exists(self._eid):
            if self._config is not None:
                warnings.warn(
                    f"Environment {self._eid} exists already and keeps its configuration", RuntimeWarning, stacklevel=4
                )
            return self._activate({"id": service.variant("s", self._eid, "eid"), "attach": ("b", False)}, None)
        if self._config is not None or not self._load:
            return self._start(self._config or Env.Config())
        saved = _project_configuration()
        try:
            return self._start(saved)
        except ServiceUnavailable:
            raise
        except Error as error:
            if not saved.gpus or not self._attach:
                raise
            # If only the project's folder requests the GPUs, their absence is a warning.
            eid = self._start(saved, without=True)
            warnings.warn(
                f"The environment is active without the {saved.gpus} GPU{'' if saved.gpus == 1 else 's'} that .genv asks "
                f"for: {error}",
                RuntimeWarning,
                stacklevel=4,
            )
            return eid

    @staticmethod
    def _exists(eid: str) -> bool:
        with Connection() as connection:
            try:
                service.environment(connection, eid)
                return True
            except NoSuchEnvironment:
                return False

    def _start(self, config: Env.Config, without: bool = False) -> str:
        attach = bool(config.gpus) and self._attach and not without
        options: Options = {**_options(config), "attach": ("b", attach)}
        if self._eid is not None:
            options["id"] = service.variant("s", self._eid, "eid")
        if self._within is not None:
            options["within"] = service.variant("s", self._within, "within")
        if self._over_subscribe:
            options["over-subscribe"] = ("b", True)
        if self._over_subscribable:
            options["over-subscribable"] = ("b", True)
        if self._preemptible:
            options["preemptible"] = service.preemptible(self._preemptible)
        if self._lifetime is not None:
            options["lifetime"] = service.variant("t", waiting.seconds(self._lifetime, "lifetime"), "lifetime")
        if not (self._wait and attach):
            return self._activate(options, None)
        options["priority"] = service.variant("i", self._priority, "priority")
        return self._activate({**options, **waiting.WAIT}, self._timeout)

    # The caller becomes the root process, by the PID that the bus reports. In a container, os.getpid() may differ.
    @staticmethod
    def _activate(options: Options, timeout: Optional[Span]) -> str:
        left = waiting.RemainingTime(timeout)
        attempts = 0

        def arguments() -> Tuple[Options]:
            nonlocal attempts
            attempts += 1
            return (left.put_into(options),)

        try:
            eid, _ = waiting.call(contract.MANAGER_PATH, contract.ACTIVATE, arguments, left)
            return str(eid)
        except AlreadyExists:
            # A service that ended after the activation but before its reply has already created the environment.
            with Connection() as connection:
                started = service.environments_of_this_process(connection)
            if attempts > 1 and started:
                return started[0]
            raise
        except Error:
            raise
        except BaseException:
            # A grant may arrive after Ctrl-C. Gives back an environment that this process would hold unknowingly.
            with contextlib.suppress(Error), Connection() as connection:
                service.leave_all(connection)
            raise

    def _enter(self, eid: str) -> None:
        with _process.lock:
            self._before = variables.saved()
            with Connection() as connection:
                environment = service.environment(connection, eid)
                values = {
                    **variables.of_activation(environment),
                    **variables.of_configuration(environment),
                    **variables.of_devices(_visible(connection, environment)),
                }
            variables.put(values)
            _process.created = environment.created
            self._active = eid

    # If leaving fails, the environment ends with the process. The code that ran in it has not failed.
    @staticmethod
    def _leave_quietly(eid: str) -> None:
        try:
            with Connection() as connection:
                service.leave(connection, eid)
        except Error as error:
            warnings.warn(
                f"Cannot leave environment {eid}, which ends with this process: {error}", RuntimeWarning, stacklevel=4
            )
