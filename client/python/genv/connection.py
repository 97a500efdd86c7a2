# SPDX-License-Identifier: LGPL-2.1-or-later
"""A blocking connection to a bus, for one thread.

Each operation of the package has its own connection and closes it. Threads therefore never share one, and if an
operation ends in any way, even by Ctrl-C, the service notices that the caller has disconnected. A child that is forked
meanwhile closes its copies at once, because they would keep a waiting call of the parent alive.
"""

from __future__ import annotations

import os
import select
import socket
import time
from collections import deque
from typing import Any, Deque, Dict, List, Optional, Sequence, Tuple, TypeVar

from genv import contract, starting, wire
from genv.address import system_bus_sockets
from genv.errors import NO_REPLY, NO_SERVER, ServiceUnavailable, error_for

#: Timeout in seconds of the bus' greeting and of calls that the service answers at once.
DEFAULT_TIMEOUT = 25.0

_MAX_DESCRIPTORS = 256
_DESCRIPTOR_BYTES = 4
_CHUNK_BYTES = 1 << 18
# The number of messages kept while waiting for a reply. Only a malicious sender causes more.
_MAX_KEPT = 65536

# By descriptor. Each change is a single step, so that a fork always finds a consistent state.
_open_sockets: Dict[int, socket.socket] = {}


def _close_inherited() -> None:
    for inherited in list(_open_sockets.values()):
        inherited.close()
    _open_sockets.clear()


os.register_at_fork(after_in_child=_close_inherited)


_Self = TypeVar("_Self", bound="Connection")


class Deadline:
    """A point in time, or none."""

    def __init__(self, seconds: Optional[float]) -> None:
        self._at = None if seconds is None else time.monotonic() + seconds

    def milliseconds(self) -> Optional[int]:
        """Returns the timeout for poll(). None means no limit. Rounded up, so that 0 means that the time is over."""
        if self._at is None:
            return None
        return max(0, int((self._at - time.monotonic()) * 1000 + 0.999))


def _connected(sockets: Sequence[str], what: str) -> socket.socket:
    failure: Optional[BaseException] = None
    for path in sockets:
        try:
            return wire.connect(path, DEFAULT_TIMEOUT)
        except (OSError, ValueError) as error:
            failure = error
    raise ServiceUnavailable(f"{what} cannot be reached: {failure}", NO_SERVER) from failure


class Connection:
    """A connection, and a context manager that closes it. Raises ServiceUnavailable if there is no bus.

    With `starts_service` False, its calls fail if the service is not running, instead of starting it. `sockets` are
    those of another bus than the system's, to be tried in this order.
    """

    def __init__(self, starts_service: bool = True, sockets: Optional[Sequence[str]] = None) -> None:
        self._starts_service = starts_service
        if sockets is None:
            self._socket = _connected(system_bus_sockets(), "the system bus")
        else:
            self._socket = _connected(sockets, "the user's bus")
        self._number = self._socket.fileno()
        _open_sockets[self._number] = self._socket
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLIN)
        self._serial = 0
        self._has_reached_service = False
        self._buffer = bytearray()
        self._descriptors: List[int] = []
        self._signals: Deque[wire.Message] = deque(maxlen=_MAX_KEPT)
        try:
            (self.unique_name,) = self.call_bus(contract.HELLO)
        except BaseException:
            self.close()
            raise

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_descriptors"):
            self.close()

    def close(self) -> None:
        """Disconnects from the bus at once, for every copy of the connection. May be called more than once."""
        if _open_sockets.get(self._number) is self._socket:
            del _open_sockets[self._number]
            self.wake()
        self._socket.close()
        self._close_descriptors(self._descriptors)

    def wake(self) -> None:
        """Makes another thread that waits on this connection see its end."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # the bus has already disconnected

    @staticmethod
    def _close_descriptors(descriptors: List[int]) -> None:
        while descriptors:
            os.close(descriptors.pop())

    # -- calls

    def call(
        self,
        path: str,
        method: contract.Method,
        *arguments: Any,
        timeout: Optional[float] = DEFAULT_TIMEOUT,
        interactive: bool = False,
    ) -> wire.Body:
        """Calls the service and returns its reply. `timeout` is in seconds; None means no limit.

        Raises the Error that the service returns, and ServiceUnavailable if there is no reply. The caller must close
        the descriptors in the reply.
        """
        if self._starts_service and not self._has_reached_service:
            starting.require_service(self, DEFAULT_TIMEOUT if timeout is None else timeout)
            self._has_reached_service = True
        return self._call(contract.BUS_NAME, path, method, arguments, timeout, interactive)

    def call_bus(
        self, method: contract.Method, *arguments: Any, timeout: float = DEFAULT_TIMEOUT
    ) -> wire.Body:
        """Calls the bus itself."""
        return self._call(contract.BUS_DRIVER, contract.BUS_DRIVER_PATH, method, arguments, timeout, False)

    def call_systemd(self, path: str, method: contract.Method, *arguments: Any) -> wire.Body:
        """Calls systemd for one of its objects."""
        return self._call(contract.SYSTEMD, path, method, arguments, DEFAULT_TIMEOUT, False)

    def _call(
        self,
        destination: str,
        path: str,
        method: contract.Method,
        arguments: Tuple[Any, ...],
        timeout: Optional[float],
        interactive: bool,
    ) -> wire.Body:
        self._serial += 1
        data = wire.encode_call(
            self._serial,
            destination,
            path,
            method.interface,
            method.member,
            method.takes,
            arguments,
            interactive,
            self._starts_service,
        )
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise ServiceUnavailable(f"lost the bus: {error}", NO_REPLY) from error
        return self._reply(method, Deadline(timeout), timeout)

    def _reply(self, method: contract.Method, deadline: Deadline, timeout: Optional[float]) -> wire.Body:
        while True:
            message = self._receive(deadline)
            if message is None:
                raise ServiceUnavailable(f"no reply to {method.member} within {timeout} seconds", NO_REPLY)
            if message.is_signal:
                self._signals.append(message)
                continue
            if message.reply_to != self._serial:
                self._close_descriptors(list(message.descriptors))
                continue
            if message.is_error:
                self._close_descriptors(list(message.descriptors))
                text = message.body[0] if message.signature.startswith("s") else message.error_name
                raise error_for(message.error_name, text)
            if message.signature != method.gives:
                self._close_descriptors(list(message.descriptors))
                raise error_for("", f"invalid reply to {method.member}: type {message.signature!r}")
            return message.body

    # -- signals

    def add_match(self, rule: str) -> None:
        """Subscribes to the messages that match a rule."""
        self.call_bus(contract.ADD_MATCH, rule)

    def next_signal(self, timeout: Optional[float]) -> Optional[wire.Message]:
        """Returns the next signal, or None after `timeout` seconds. Raises ServiceUnavailable if the bus
        disconnects."""
        deadline = Deadline(timeout)
        while not self._signals:
            message = self._receive(deadline)
            if message is None:
                return None
            if message.is_signal:
                self._signals.append(message)
            else:
                self._close_descriptors(list(message.descriptors))
        return self._signals.popleft()

    # -- bytes

    def _receive(self, deadline: Deadline) -> Optional[wire.Message]:
        try:
            while len(self._buffer) < self._size():
                if not self._read(self._size() - len(self._buffer), deadline):
                    return None
            return self._decoded()
        except OSError as error:
            raise ServiceUnavailable(f"lost the bus: {error}", NO_REPLY) from error

    # Returns the size of the incoming message, as far as it is known.
    def _size(self) -> int:
        if len(self._buffer) < wire.PREFIX_BYTES:
            return wire.PREFIX_BYTES
        size = wire.size_of(bytes(self._buffer[: wire.PREFIX_BYTES]))
        if not wire.PREFIX_BYTES <= size <= wire.MAX_BYTES:
            raise OSError(f"invalid message of {size} bytes")
        return size

    def _decoded(self) -> wire.Message:
        data, self._buffer = bytes(self._buffer), bytearray()
        descriptors, self._descriptors = self._descriptors, []
        try:
            message = wire.decode(data, descriptors)
        except Exception as error:
            self._close_descriptors(descriptors)
            raise OSError(f"invalid message: {error!r}") from error
        if message.is_signal:
            self._close_descriptors(descriptors)
        return message

    # Reads at most the rest of this message, so that descriptors of the next one are not mixed in.
    def _read(self, count: int, deadline: Deadline) -> bool:
        if not self._poll.poll(deadline.milliseconds()):
            return False
        data, ancillary, flags, _ = self._socket.recvmsg(
            min(count, _CHUNK_BYTES),
            socket.CMSG_SPACE(_MAX_DESCRIPTORS * _DESCRIPTOR_BYTES),
            getattr(socket, "MSG_CMSG_CLOEXEC", 0x40000000),
        )
        for level, kind, raw in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                usable = memoryview(raw)[: len(raw) - len(raw) % _DESCRIPTOR_BYTES]
                self._descriptors.extend(usable.cast("i"))
        if flags & socket.MSG_CTRUNC:
            raise OSError("a message has too many descriptors")
        if not data:
            raise ConnectionResetError("the bus closed the connection")
        self._buffer += data
        return True
