# SPDX-License-Identifier: LGPL-2.1-or-later
"""A desktop session of alice's for tests on the private bus: a session bus of her own, and notification servers on it.

No test waits for a fixed time: each wait is for an expected event, and fails if the event does not come.
"""

import collections
import json
import os
import subprocess
import sys

import dbus
import dbus.bus

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "client"))
sys.dont_write_bytecode = True

from bus_scenario import AS_USER, BUS_FOLDER, DEADLINE_SECONDS  # noqa: E402
from waiting import until  # noqa: E402

SERVER = "org.freedesktop.Notifications"
OBJECT = "/org/freedesktop/Notifications"

# The user who runs the test may also connect.
CONFIGURATION = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:path={socket}</listen>
  <policy context="default">
    <allow user="*"/>
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
"""

Notification = collections.namedtuple("Notification", "id replaces application icon title body actions hints")


class Session:
    """Alice's session bus and the programs on it."""

    def __init__(self):
        home = os.path.join(BUS_FOLDER, "home", "alice")
        self.socket = os.path.join(home, "session.sock")
        self.address = f"unix:path={self.socket}"
        self.configuration = os.path.join(home, "session.conf")
        with open(self.configuration, "w", encoding="utf-8") as file:
            file.write(CONFIGURATION.format(socket=self.socket))
        self.processes = {}
        self.connection = None
        self.start_bus()

    def start(self, name, *command, **variables):
        """Runs a program as alice; its output is in NAME.log."""
        assignments = [f"{key}={value}" for key, value in variables.items()]
        with open(os.path.join(BUS_FOLDER, f"{name}.log"), "ab") as log:
            self.processes[name] = subprocess.Popen(
                [AS_USER, "alice", "env", f"DBUS_SESSION_BUS_ADDRESS={self.address}", *assignments, *command],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        return self.processes[name]

    def stop(self, name):
        process = self.processes.pop(name)
        process.terminate()
        return process.wait(DEADLINE_SECONDS)

    def log(self, name):
        with open(os.path.join(BUS_FOLDER, f"{name}.log"), encoding="utf-8") as file:
            return file.read()

    def close(self):
        if self.connection:
            self.connection.close()
        for name in reversed(list(self.processes)):
            self.stop(name)

    def start_bus(self):
        if os.path.exists(self.socket):
            os.unlink(self.socket)
        self.start("session-bus", "dbus-daemon", f"--config-file={self.configuration}", "--nofork")
        until(lambda: os.path.exists(self.socket), "the session bus")
        self.connection = until(self.connect, "the session bus")

    def connect(self):
        try:
            return dbus.bus.BusConnection(self.address)
        except dbus.DBusException:
            return None

    def owns(self, name):
        return self.connection.name_has_owner(name)

    def start_server(self, capabilities="body body-markup actions icon-static"):
        """Starts the stand-in, which records the notifications."""
        self.start("server", "/usr/bin/python3", "-m", "dbusmock", "--session", "-t", "notification_daemon",
                   "-p", json.dumps({"capabilities": capabilities}))
        until(lambda: self.owns(SERVER), "the notification server")

    def stop_server(self):
        self.stop("server")
        until(lambda: not self.owns(SERVER), "the end of the notification server")

    def mock(self):
        return dbus.Interface(self.connection.get_object(SERVER, OBJECT), "org.freedesktop.DBus.Mock")

    def shown(self):
        """Returns the notifications that the stand-in got, oldest first, with their ids."""
        notifications, next_id = [], 1
        for _, arguments in self.mock().GetMethodCalls("Notify"):
            application, replaces, icon, title, body, actions, hints, _ = arguments
            number = int(replaces) or next_id
            next_id += int(replaces) == 0
            notifications.append(Notification(number, int(replaces), str(application), str(icon), str(title), str(body),
                                              [str(each) for each in actions],
                                              {str(key): value for key, value in hints.items()}))
        return notifications

    def await_shown(self, condition, what):
        """Returns the first notification that satisfies the condition."""
        return until(lambda: next((each for each in self.shown() if condition(each)), None), what)

    def signal(self, name, signature, *arguments):
        """Emits a signal as the server does."""
        self.mock().EmitSignal(SERVER, name, signature, list(arguments))
