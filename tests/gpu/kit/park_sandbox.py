# SPDX-License-Identifier: LGPL-2.1-or-later
"""park_sandbox.py RESTRICTION,... COMMAND...: runs a command under restrictions of genv-park@.service, where systemd cannot.

The restrictions are named as the lines of the unit. System calls that the unit permits are in /kit/park-syscalls, which
make-kit derives from the unit.
"""

import ctypes
import os
import struct
import sys

RESTRICTIONS = ("CapabilityBoundingSet", "PrivateDevices", "PrivateNetwork", "ProtectSystem", "ProcSubset",
                "MemoryDenyWriteExecute", "RestrictAddressFamilies", "SystemCallFilter")
PR_CAPBSET_DROP, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, PR_SET_MDWE = 24, 22, 38, 65
SECCOMP_MODE_FILTER, ALLOW, ERRNO = 2, 0x7FFF0000, 0x00050000
EPERM, EAFNOSUPPORT = 1, 97
CLONE_NEWNS, CLONE_NEWNET = 0x00020000, 0x40000000
MS_RDONLY, MS_REMOUNT, MS_BIND, MS_MOVE, MS_REC, MS_PRIVATE = 1, 32, 4096, 8192, 16384, 1 << 18
KEPT_CAPABILITIES = (5, 6, 7)  # CAP_KILL, CAP_SETGID, CAP_SETUID
LAST_CAPABILITY = 40
SOCKET = {"x86_64": 41, "aarch64": 198}[os.uname().machine]

libc = ctypes.CDLL(None, use_errno=True)


def must(result, what):
    if result < 0:
        sys.exit(f"park_sandbox: {what}: {os.strerror(ctypes.get_errno())}")


def mount(source, target, kind, flags, options=None):
    must(libc.mount(source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags),
                    options.encode() if options else None), f"mount {target}")


def hide_devices():
    os.makedirs("/tmp/park-dev", exist_ok=True)
    mount("tmpfs", "/tmp/park-dev", "tmpfs", 0, "mode=755")
    for name in ("null", "zero", "random", "urandom"):
        with open(f"/tmp/park-dev/{name}", "wb"):
            pass
        mount(f"/dev/{name}", f"/tmp/park-dev/{name}", "", MS_BIND)
    mount("/tmp/park-dev", "/dev", "", MS_MOVE)


def filter_system_calls(permitted, refuses_sockets):
    """Installs a filter. Without `permitted`, it refuses only sockets."""
    def statement(code, value, if_true=0, if_false=0):
        return struct.pack("HBBI", code, if_true, if_false, value)
    load, equals, answer = 0x20, 0x15, 0x06
    program = [statement(load, 0)]
    if refuses_sockets:
        program += [statement(equals, SOCKET, 0, 1), statement(answer, ERRNO | EAFNOSUPPORT)]
    for number in permitted or ():
        program += [statement(equals, number, 0, 1), statement(answer, ALLOW)]
    program.append(statement(answer, ERRNO | EPERM if permitted else ALLOW))
    code = ctypes.create_string_buffer(b"".join(program))
    header = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program), ctypes.addressof(code)))
    must(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    must(libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, header, 0, 0), "seccomp")


def main():
    wanted, command = sys.argv[1].split(","), sys.argv[2:]
    namespaces = CLONE_NEWNS | (CLONE_NEWNET if "PrivateNetwork" in wanted else 0)
    must(libc.unshare(namespaces), "unshare")
    mount("none", "/", "", MS_REC | MS_PRIVATE)
    if "PrivateDevices" in wanted:
        hide_devices()
    if "ProcSubset" in wanted:
        mount("proc", "/proc", "proc", 0, "subset=pid")
    if "ProtectSystem" in wanted:
        mount("none", "/", "", MS_REMOUNT | MS_BIND | MS_RDONLY)
    permitted = None
    if "SystemCallFilter" in wanted:
        with open("/kit/park-syscalls", encoding="ascii") as file:
            permitted = [int(number) for number in file.read().split()]
    if "CapabilityBoundingSet" in wanted:
        for capability in set(range(LAST_CAPABILITY + 1)) - set(KEPT_CAPABILITIES):
            must(libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0), "capabilities")
    if "MemoryDenyWriteExecute" in wanted:
        must(libc.prctl(PR_SET_MDWE, 1, 0, 0, 0), "MDWE")
    if permitted or "RestrictAddressFamilies" in wanted:
        filter_system_calls(permitted, "RestrictAddressFamilies" in wanted)
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
