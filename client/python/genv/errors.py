# SPDX-License-Identifier: LGPL-2.1-or-later
"""Exceptions: one class for each error on the bus, and one table from the D-Bus names to the classes.

Each is a RuntimeError. Its text is the message of the service, and `name` is the D-Bus name.
"""

from __future__ import annotations

from typing import Dict, Optional, Tuple, Type


class Error(RuntimeError):
    """Any failure of genv. `name` is the D-Bus name of the error, or "" if it does not come from the bus."""

    name: str = ""

    def __init__(self, message: str, name: Optional[str] = None) -> None:
        super().__init__(message)
        if name is not None:
            self.name = name


class NotActive(Error):
    """The function needs an active environment, but there is none."""


class AlreadyActive(Error):
    """This process is already in an environment."""


class ServiceUnavailable(Error):
    """The service or the bus is not running, or ended before it replied."""


class NoSuchEnvironment(Error):
    """There is no environment with this id, or it has ended."""


class NoSuchDevice(Error):
    """There is no device with this index or UUID, or it has another model."""


class NoSuchProcess(Error):
    """There is no such process, or it is not registered with the environment."""


class DeviceUnavailable(Error):
    """Other environments hold the devices, or they are kept for a request in the queue."""


class NotEnoughDevices(Error):
    """More devices were requested than the machine has, so waiting would not help."""


class AlreadyExists(Error):
    """The id belongs to another user, or the process is in another environment."""


class QuotaExceeded(Error):
    """A limit set by an administrator is exceeded. The message contains its name and its value."""


class NotAttached(Error):
    """The environment holds no device."""


class NoSuchWait(Error):
    """No request in the queue has this ticket."""


class NoSuchJob(Error):
    """There is no job with this number on this machine."""


class Busy(Error):
    """Another enforcement is running."""


class CannotPark(Error):
    """The environment cannot be parked. The message contains the problem and the remedy."""


class NotParked(Error):
    """The environment is not parked."""


class NoHostMemory(Error):
    """There is not enough host memory to park the environment."""


class AccessDenied(Error):
    """polkit or the bus denied access."""


class InteractiveAuthorizationRequired(Error):
    """A password is required; see `genv.allow_interaction()`."""


class InvalidArgs(Error, ValueError):
    """The arguments are invalid. The message contains the expected values."""


class LimitsExceeded(Error):
    """The user exceeded a limit that the service itself sets for each user."""


class NotSupported(Error):
    """The service does not support the request."""


class Timeout(Error):
    """The timeout expired before devices were free."""


class StorageFailed(Error):
    """The service could not write its state. Nothing has changed."""


class Failed(Error):
    """An internal error of the service. Its log has details."""


#: The errors of the service, by their D-Bus names.
BUS_ERRORS: Dict[str, Type[Error]] = {
    "dev.genv.Error.NoSuchEnvironment": NoSuchEnvironment,
    "dev.genv.Error.NoSuchDevice": NoSuchDevice,
    "dev.genv.Error.NoSuchProcess": NoSuchProcess,
    "dev.genv.Error.DeviceUnavailable": DeviceUnavailable,
    "dev.genv.Error.NotEnoughDevices": NotEnoughDevices,
    "dev.genv.Error.AlreadyExists": AlreadyExists,
    "dev.genv.Error.QuotaExceeded": QuotaExceeded,
    "dev.genv.Error.NotAttached": NotAttached,
    "dev.genv.Error.NoSuchWait": NoSuchWait,
    "dev.genv.Error.NoSuchJob": NoSuchJob,
    "dev.genv.Error.Busy": Busy,
    "dev.genv.Error.CannotPark": CannotPark,
    "dev.genv.Error.NotParked": NotParked,
    "dev.genv.Error.NoHostMemory": NoHostMemory,
    "org.freedesktop.DBus.Error.AccessDenied": AccessDenied,
    "org.freedesktop.DBus.Error.InteractiveAuthorizationRequired": InteractiveAuthorizationRequired,
    "org.freedesktop.DBus.Error.InvalidArgs": InvalidArgs,
    "org.freedesktop.DBus.Error.LimitsExceeded": LimitsExceeded,
    "org.freedesktop.DBus.Error.NotSupported": NotSupported,
    "org.freedesktop.DBus.Error.Timeout": Timeout,
    "org.freedesktop.DBus.Error.IOError": StorageFailed,
    "org.freedesktop.DBus.Error.Failed": Failed,
}
for _name, _kind in BUS_ERRORS.items():
    _kind.name = _name

NO_REPLY = "org.freedesktop.DBus.Error.NoReply"
NO_SERVER = "org.freedesktop.DBus.Error.NoServer"
UNKNOWN_OBJECT = "org.freedesktop.DBus.Error.UnknownObject"
NAME_HAS_NO_OWNER = "org.freedesktop.DBus.Error.NameHasNoOwner"

#: The bus' own errors for a service that is missing, or that ended before it replied.
UNAVAILABLE_NAMES = frozenset(
    {
        "org.freedesktop.DBus.Error.ServiceUnknown",
        NAME_HAS_NO_OWNER,
        NO_REPLY,
        NO_SERVER,
        "org.freedesktop.DBus.Error.Disconnected",
        "org.freedesktop.DBus.Error.TimedOut",
    }
)
#: Errors of the bus itself or of systemd: the service could not be started.
UNAVAILABLE_PREFIXES: Tuple[str, ...] = ("org.freedesktop.DBus.Error.Spawn.", "org.freedesktop.systemd1.")


def error_for(name: str, message: str) -> Error:
    """Returns the exception for an error on the bus."""
    if name in UNAVAILABLE_NAMES or name.startswith(UNAVAILABLE_PREFIXES):
        return ServiceUnavailable(message, name)
    return BUS_ERRORS.get(name, Error)(message, name)
