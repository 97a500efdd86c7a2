#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Kills genvd between a grant in the kernel and the reply, again and again, and compares the states afterwards. Runs in
the machine.

usage: kill_at_grants.py OPEN-NODES MAP UID KILLS     (the user has one environment, which holds GPU 0 of two)
"""

import subprocess
import sys
import time

from jeepney import DBusAddress, MessageType, new_method_call
from jeepney.io.blocking import open_dbus_connection

BUS = DBusAddress("/org/freedesktop/DBus", "org.freedesktop.DBus", "org.freedesktop.DBus")
MANAGER = DBusAddress("/dev/genv/Manager", "dev.genv.Manager", "dev.genv.Manager")
DEADLINE_SECONDS = 60
# Delays after the grant. Most are shorter than the time until the reply.
DELAYS_MICROSECONDS = (0, 40, 80, 120, 160)

program, pinned, uid, kills = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
bus = open_dbus_connection("SYSTEM")


def ask(address, method, signature=None, *body):
    return bus.send_and_get_reply(new_method_call(address, method, signature, body), timeout=DEADLINE_SECONDS)


def call(address, method, signature=None, *body):
    reply = ask(address, method, signature, *body)
    if reply.header.message_type == MessageType.error:
        raise SystemExit(f"{method}: {reply.body}")
    return reply.body


def grants():
    """Returns the nodes that the kernel lets the user open."""
    lines = subprocess.run([program, "--grants", pinned], check=True, capture_output=True, text=True).stdout.splitlines()
    return sorted(line.split()[0] for line in lines if line.split()[1] == str(uid))


def kill_at_grant(environment, delay):
    """Requests GPU 1 and kills the service at the grant. Returns whether there was no reply."""
    [owner] = call(BUS, "GetNameOwner", "s", MANAGER.bus_name)
    [pid] = call(BUS, "GetConnectionUnixProcessID", "s", owner)
    # It has a higher priority than every other process, so that it notices the grant at once.
    with subprocess.Popen(["chrt", "--fifo", "1", program, "--kill-at-grant", pinned, "195", "1", str(uid), str(pid), str(delay)],
                          stdout=subprocess.PIPE, text=True) as killer:
        if killer.stdout.readline() != "waits\n":
            raise SystemExit("there is nothing to wait for a grant")
        reply = ask(environment, "Attach", "a{sv}", {"index": ("u", 1)})
        if killer.wait(DEADLINE_SECONDS) != 0:
            raise SystemExit(f"it could not be killed: {reply.body}")
    # Otherwise the next call would reach the process that is being killed. A name without an owner gives an error. The
    # PID is less reliable: since dbus 1.16 it is unknown as soon as the process has ended, which may be before the bus
    # has closed the connection.
    deadline = time.monotonic() + DEADLINE_SECONDS
    while ask(BUS, "GetNameOwner", "s", MANAGER.bus_name).body[0] == owner:
        if time.monotonic() > deadline:
            raise SystemExit("it was not killed")
    return reply.header.message_type == MessageType.error


def main():
    [[environment]] = [[row for row in call(MANAGER, "ListEnvironments")[0] if row[1] == uid]]
    address = DBusAddress(environment[6], MANAGER.bus_name, "dev.genv.Environment")
    lost = held = replied = 0
    while lost < kills:
        delay = DELAYS_MICROSECONDS[(lost + replied) % len(DELAYS_MICROSECONDS)]
        is_lost = kill_at_grant(address, delay)
        lost, replied = lost + is_lost, replied + (not is_lost)
        if replied > 4 * kills:
            raise SystemExit("nearly every request was answered before its process was killed")
        nodes = sorted(f"195:{device}" for device, holder, *_ in call(MANAGER, "ListAttachments")[0] if holder == environment[0])
        if grants() != nodes or "195:0" not in nodes:
            raise SystemExit(f"after {lost + replied} kills genvd says that {nodes} are held, and the kernel has {grants()}")
        if "195:1" in nodes:
            held += is_lost
            call(address, "Detach", "au", [1])
    print(f"{lost} kills before the reply, after {held} of which the GPU is held; {replied} kills after it")


main()
