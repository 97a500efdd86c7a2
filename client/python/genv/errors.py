# SPDX-License-Identifier: LGPL-2.1-or-later
"""What can go wrong: one exception for each error of the bus, and one table from the names to them.

Each is a RuntimeError, its text is the sentence of the service, and `name` is the name on the bus.
"""

from __future__ import annotations

from typing import Dict, Optional, Tuple, Type


class Error(RuntimeError):
    """Any failure of genv. `name` is the error's name on the bus, "" where it did not come from there."""

    name: str = ""

    def __init__(self, message: str, name: Optional[str] = None) -> None:
        super().__init__(message)
        if name is not None:
            self.name = name


class NotActive(Error):
    """The function needs an active environment, and there is none."""


class AlreadyActive(Error):
    """This process is in an environment already."""


class ServiceUnavailable(Error):
    """The service, or the bus, is not there or went away before it answered."""


class NoSuchEnvironment(Error):
    """There is no environment with this id, or it has ended."""


class NoSuchDevice(Error):
    """There is no device with this index or UUID, or it is of another model."""


class NoSuchProcess(Error):
    """There is no such process, or it is not registered with the environment."""


class DeviceUnavailable(Error):
    """The devices are held by others, or kept for somebody who waits."""


class NotEnoughDevices(Error):
    """More devices than the machine has: waiting would not help."""


class AlreadyExists(Error):
    """The id is another user's, or the process is in another environment."""


class QuotaExceeded(Error):
    """An administrator's limit; the message has its name and number."""


class NotAttached(Error):
    """The environment holds no device."""


class NoSuchWait(Error):
    """No request with this ticket waits, or no longer."""


class Busy(Error):
    """An enforcement is running already."""


class AccessDenied(Error):
    """polkit, or the bus, said no."""


class InteractiveAuthorizationRequired(Error):
    """A person would have to be asked; see `genv.allow_interaction()`."""


class InvalidArgs(Error, ValueError):
    """What was asked for makes no sense; the message says what would."""


class LimitsExceeded(Error):
    """The service's own cap for a user."""


class NotSupported(Error):
    """The service cannot do that."""


class Timeout(Error):
    """The time that was given passed before there were devices."""


class StorageFailed(Error):
    """The service could not write its state, and nothing has changed."""


class Failed(Error):
    """A fault of the service; its log says more."""


#: The errors of the service, by their names on the bus.
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
    "dev.genv.Error.Busy": Busy,
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
UNKNOWN_PROPERTY = "org.freedesktop.DBus.Error.UnknownProperty"
UNKNOWN_METHOD = "org.freedesktop.DBus.Error.UnknownMethod"
NAME_HAS_NO_OWNER = "org.freedesktop.DBus.Error.NameHasNoOwner"

#: The bus' own ways of saying that nobody is there to answer, or is no longer.
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
#: Starting the service failed, by the bus itself or by systemd.
UNAVAILABLE_PREFIXES: Tuple[str, ...] = ("org.freedesktop.DBus.Error.Spawn.", "org.freedesktop.systemd1.")


def error_for(name: str, message: str) -> Error:
    """The exception that an error on the bus is."""
    if name in UNAVAILABLE_NAMES or name.startswith(UNAVAILABLE_PREFIXES):
        return ServiceUnavailable(message, name)
    return BUS_ERRORS.get(name, Error)(message, name)
