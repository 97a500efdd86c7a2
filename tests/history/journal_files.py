# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes records of the service's journal for tests: to the real journald, or as a journal file with past times."""

import os
import re
import socket
import struct
import subprocess

JOURNAL_REMOTE = "/lib/systemd/systemd-journal-remote"
CONTRACT = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../service/journal/contract.hpp")


def message_ids():
    """Maps each kind to its MESSAGE_ID in the contract."""
    with open(CONTRACT, encoding="utf-8") as file:
        return dict(re.findall(r'Kind\{"([a-z-]+)", "([0-9a-f]{32})"\}', file.read()))


KINDS = message_ids()


def encode(fields):
    """Encodes fields as in the journal's native protocol and its export format; a value is text or bytes."""
    out = b""
    for name, value in fields.items():
        data = value if isinstance(value, bytes) else str(value).encode()
        if b"\n" in data or not data.isascii():
            out += name.encode() + b"\n" + struct.pack("<Q", len(data)) + data + b"\n"
        else:
            out += name.encode() + b"=" + data + b"\n"
    return out


def event(kind, **fields):
    """Returns the fields of an event of a kind; the names are those of the contract, without GENV_."""
    named = {f"GENV_{name.upper()}": value for name, value in fields.items() if name != "message"}
    return {"MESSAGE": fields.get("message", f"a test's {kind}"), "PRIORITY": 6, "MESSAGE_ID": KINDS[kind],
            "GENV_EVENT": kind, **named}


def send(fields):
    """Sends a record to the running journald, as this process."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.sendto(encode(fields), "/run/systemd/journal/socket")


def own_unit():
    """Returns the unit to which journald assigns this process and the service that it starts; None if it assigns none.
    """
    send({"MESSAGE": "whose am I", "TEST_UNIT_OF": os.getpid()})
    subprocess.run(["journalctl", "--sync"], check=True)
    record = subprocess.run(["journalctl", "-o", "export", f"TEST_UNIT_OF={os.getpid()}"], capture_output=True,
                            check=True).stdout
    found = re.search(rb"(?m)^_SYSTEMD_UNIT=(.*)$", record)
    return found.group(1).decode() if found else None


def write_file(name, records, unit):
    """Writes (µs since the epoch, fields) as a file of this machine's journal, as if root's service had sent them."""
    with open("/etc/machine-id", encoding="ascii") as file:
        folder = os.path.join("/run/log/journal", file.read().strip())
    trusted = {"_UID": 0, **({"_SYSTEMD_UNIT": unit} if unit else {})}
    boot = "0123456789abcdef0123456789abcdef"
    text = b"".join(
        encode({"__REALTIME_TIMESTAMP": time, "__MONOTONIC_TIMESTAMP": time, "_BOOT_ID": boot, **trusted, **fields}) +
        b"\n" for time, fields in sorted(records, key=lambda record: record[0]))
    subprocess.run([JOURNAL_REMOTE, "-o", os.path.join(folder, f"system@{name}.journal"), "-"], input=text,
                   check=True, capture_output=True)
