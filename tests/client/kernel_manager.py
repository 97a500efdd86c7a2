#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A stand-in for a notebook server: starts and ends kernels with jupyter_client as a server does. Each line of its
standard input is a JSON list with the name of a method and its arguments. It answers each with a line of JSON."""

import json
import os
import sys

from jupyter_client import KernelManager
from jupyter_client.kernelspec import KernelSpecManager

# Shorter than the timeout of the test, so that the test gets the error that names the missing event.
DEADLINE_SECONDS = 110


class Server:
    def __init__(self):
        self.managers = {}
        self.clients = {}
        self.begun = {}  # the requests of begin(), with what they have printed

    def specs(self):
        return KernelSpecManager().find_kernel_specs()

    def launch(self, key, kernel, connection_file):
        """Starts a kernel without waiting for it and returns its PID."""
        self.managers[key] = KernelManager(kernel_name=kernel, connection_file=connection_file)
        self.managers[key].start_kernel()
        return self.managers[key].provisioner.process.pid

    def ready(self, key):
        """Waits until the kernel answers."""
        client = self.managers[key].blocking_client()
        client.start_channels()
        client.wait_for_ready(timeout=DEADLINE_SECONDS)
        self.clients[key] = client

    def status(self, key):
        """Returns the exit status of a process that failed to become a kernel."""
        return self.managers[key].provisioner.process.wait(DEADLINE_SECONDS)

    def run(self, key, code):
        """Returns the output of the code."""
        printed = []

        def hear(message):
            if message["msg_type"] == "stream":
                printed.append(message["content"]["text"])

        reply = self.clients[key].execute_interactive(code, timeout=DEADLINE_SECONDS, output_hook=hear)
        return "".join(printed) if reply["content"]["status"] == "ok" else reply["content"]["ename"]

    def begin(self, key, code):
        """Runs code without waiting for its end."""
        # Otherwise the kernel would also abort the next request, if that arrives soon enough.
        self.begun[key] = [self.clients[key].execute(code, stop_on_error=False), ""]

    def hear(self, key, text):
        """Waits until the code that was begun has printed this."""
        while text not in self.begun[key][1]:
            self.next_output(key)

    def next_output(self, key):
        """Reads a message of the code that was begun. Returns whether it has ended."""
        request = self.begun[key]
        message = self.clients[key].get_iopub_msg(timeout=DEADLINE_SECONDS)
        if message["parent_header"].get("msg_id") != request[0]:
            return False
        if message["msg_type"] == "stream":
            request[1] += message["content"]["text"]
        return message["content"].get("execution_state") == "idle"

    def end(self, key, interrupts):
        """Waits for the end of the code that was begun. Returns its status or exception, and its output."""
        if interrupts:
            self.managers[key].interrupt_kernel()
        while True:
            reply = self.clients[key].get_shell_msg(timeout=DEADLINE_SECONDS)
            if reply["parent_header"].get("msg_id") == self.begun[key][0]:
                break
        while not self.next_output(key):
            pass
        return [reply["content"].get("ename", reply["content"]["status"]), self.begun.pop(key)[1]]

    def interrupt(self, key):
        """Interrupts code that would never end, and returns the name of the exception."""
        client = self.clients[key]
        # The text is one write, so it arrives in one message. The loop makes no call, so the signal cannot arrive just
        # before a call that it should interrupt.
        code = "import sys\nsys.stdout.write('begun')\nwhile True: pass"
        # Otherwise the kernel would also abort the next request, if that arrives soon enough.
        request = client.execute(code, stop_on_error=False)
        while client.get_iopub_msg(timeout=DEADLINE_SECONDS)["content"].get("text") != "begun":
            pass
        self.managers[key].interrupt_kernel()
        while True:
            reply = client.get_shell_msg(timeout=DEADLINE_SECONDS)
            if reply["parent_header"].get("msg_id") == request:
                return reply["content"].get("ename")

    def restart(self, key):
        """Returns the new PID."""
        self.clients.pop(key).stop_channels()
        self.managers[key].restart_kernel()
        self.ready(key)
        return self.managers[key].provisioner.process.pid

    def shutdown(self, key):
        if key in self.clients:
            self.clients.pop(key).stop_channels()
        self.managers.pop(key).shutdown_kernel()


def main():
    # Output that a kernel writes to its standard output is not an answer.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    server = Server()
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        print(json.dumps(getattr(server, name)(*arguments)), file=answers, flush=True)
    for key in list(server.managers):
        server.shutdown(key)


if __name__ == "__main__":
    main()
