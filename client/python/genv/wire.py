# SPDX-License-Identifier: LGPL-2.1-or-later
"""The only module that imports jeepney, which has no types: converts messages to bytes and back, and makes the
handshake."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import Any, List, Optional, Sequence, Tuple

from jeepney import HeaderFields, Message as _Message, MessageFlag, MessageType
from jeepney.io.blocking import prep_socket
from jeepney.low_level import calc_msg_size
from jeepney.wrappers import DBusAddress, new_method_call

#: The number of bytes of a message that are needed to know its length.
PREFIX_BYTES = 16
#: The maximum size of a message. The system bus carries up to 32 MiB; a snapshot of 10 000 environments has 4 MiB.
MAX_BYTES = 64 << 20

#: The values of a message: a variant is (signature, value), a struct a tuple, a descriptor its number.
Body = Tuple[Any, ...]


@dataclass(frozen=True)
class Message:
    """A received message."""

    is_signal: bool
    is_error: bool
    sender: str
    path: str
    interface: str
    member: str
    reply_to: Optional[int]
    error_name: str
    signature: str
    body: Body
    descriptors: Sequence[int]


def connect(path: str, timeout: float) -> socket.socket:
    """Returns a socket to the bus, after the handshake. Raises OSError and ValueError."""
    connected: socket.socket = prep_socket(path, True, timeout)
    return connected


def encode_call(
    serial: int,
    destination: str,
    path: str,
    interface: str,
    member: str,
    signature: str,
    body: Body,
    interactive: bool,
    starts_service: bool = True,
) -> bytes:
    """Encodes a call as bytes. Raises Python's own exceptions for values that do not fit the signature."""
    address = DBusAddress(path, bus_name=destination, interface=interface)
    call = new_method_call(address, member, signature or None, body)
    if interactive:
        call.header.flags |= MessageFlag.allow_interactive_authorization
    if not starts_service:
        call.header.flags |= MessageFlag.no_auto_start
    data: bytes = call.serialise(serial=serial)
    return data


def size_of(prefix: bytes) -> int:
    """Returns the length in bytes of the message with this prefix. Raises Python's own exceptions for an invalid
    message."""
    size: int = calc_msg_size(prefix)
    return size


def decode(data: bytes, descriptors: List[int]) -> Message:
    """Decodes a complete message. Raises Python's own exceptions for an invalid message."""
    message = _Message.from_buffer(data, fds=descriptors)
    fields = message.header.fields
    kind = message.header.message_type
    return Message(
        kind is MessageType.signal,
        kind is MessageType.error,
        fields.get(HeaderFields.sender, ""),
        fields.get(HeaderFields.path, ""),
        fields.get(HeaderFields.interface, ""),
        fields.get(HeaderFields.member, ""),
        fields.get(HeaderFields.reply_serial),
        fields.get(HeaderFields.error_name, ""),
        fields.get(HeaderFields.signature, ""),
        tuple(message.body),
        tuple(descriptors),
    )
