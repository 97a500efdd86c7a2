# SPDX-License-Identifier: LGPL-2.1-or-later
"""The folder .genv with the configuration of a project: one file for each field, which contains only the value."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from typing import Callable, Dict, Optional

from genv import memory
from genv.entities import Env
from genv.errors import Error

_FOLDER = ".genv"
# Longer than any value.
_MAX_BYTES = 256
_MAX_GPUS = (1 << 32) - 1


def home() -> Optional[str]:
    """Returns the folder in use: `.genv` in the working folder, else in the home folder, or None if neither exists.

    The path is absolute.
    """
    for parent in (_working_folder(), os.environ.get("HOME", "")):
        folder = os.path.join(parent, _FOLDER)
        if parent and os.path.isdir(folder):
            return folder
    return None


# Uses the shell's name of the working folder, as long as it is correct.
def _working_folder() -> str:
    try:
        actual = os.getcwd()
    except OSError:
        return ""
    named = os.environ.get("PWD", "")
    try:
        if os.path.isabs(named) and os.path.samefile(named, actual):
            return named
    except OSError:
        pass
    return actual


def require_home() -> str:
    """As home(). Raises Error if there is no folder."""
    folder = home()
    if folder is None:
        raise Error(
            "There is no .genv folder here, nor in your home folder; create one in your project's folder: mkdir -p .genv"
        )
    return folder


def _failure(path: str, why: str, number: int) -> Error:
    return Error(f"{path} {why}: {os.strerror(number)}")


def _read(path: str) -> Optional[str]:
    # A pipe or terminal in place of the file must not block this call.
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
    try:
        descriptor = os.open(path, flags)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _failure(path, "cannot be read", error.errno or errno.EIO) from error
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise _failure(path, "cannot be read", errno.EINVAL)
        raw = file.read(_MAX_BYTES + 1)
    if len(raw) > _MAX_BYTES:
        raise _failure(path, "cannot be read", errno.EFBIG)
    try:
        return raw.decode().strip(" \t\r\n") or None
    except UnicodeDecodeError as error:
        raise Error(f"{path} cannot be read: not UTF-8") from error


# Writes a temporary file and renames it. A reader sees either the old or the new value, and a link is not followed.
def _write(path: str, value: str) -> None:
    temporary = f"{path}.{secrets.token_hex(8)}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with open(os.open(temporary, flags, 0o666), "wb") as file:
            file.write(value.encode())
        os.replace(temporary, path)
    except (OSError, UnicodeEncodeError) as error:
        try:
            os.unlink(temporary)
        except OSError:
            pass  # it never existed, or someone else removed it
        raise _failure(path, "cannot be saved", getattr(error, "errno", None) or errno.EINVAL) from error


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 10 and int(text) <= _MAX_GPUS):
        raise Error(f"invalid number of GPUs {text!r}: expected a whole number such as 2")
    return int(text)


def _amount(text: str) -> str:
    return memory.text_of(memory.parse(text))


def load(folder: str) -> Env.Config:
    """Returns the saved configuration. Raises Error, with the name of the file, if a file is unreadable or invalid."""
    fields: Dict[str, Optional[str]] = {}
    for field in ("name", "gpu-memory", "gpus"):
        fields[field] = _read(os.path.join(folder, field))

    def take(field: str, read: Callable[[str], str]) -> Optional[str]:
        text = fields[field]
        try:
            return None if text is None else read(text)
        except Error as error:
            raise Error(f"{os.path.join(folder, field)}: {error}") from error

    gpus = take("gpus", lambda text: str(_count(text)))
    return Env.Config(name=fields["name"], gpu_memory=take("gpu-memory", _amount), gpus=gpus and int(gpus) or None)


def save(folder: str, config: Env.Config) -> None:
    """Saves each field. The file of an unset field is removed."""
    values = {
        "name": config.name,
        "gpu-memory": None if config.gpu_memory is None else str(config.gpu_memory),
        "gpus": None if config.gpus is None else str(config.gpus),
    }
    for field, value in values.items():
        path = os.path.join(folder, field)
        if value is not None:
            _write(path, value)
            continue
        try:
            os.unlink(path)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise _failure(path, "cannot be removed", error.errno or errno.EIO) from error
