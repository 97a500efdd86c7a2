#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A stand-in for a notebook server: starts and ends kernels as one does, with jupyter_client, as it is told on its
standard input, a JSON list with the name of a method and its arguments a line; answers each with a line of JSON."""

import json
import os
import sys

from jupyter_client import KernelManager
from jupyter_client.kernelspec import KernelSpecManager

# Shorter than that of who asks, who would otherwise not learn what it was that did not come.
DEADLINE_SECONDS = 25


class Server:
    def __init__(self):
        self.managers = {}
        self.clients = {}

    def specs(self):
        return KernelSpecManager().find_kernel_specs()

    def launch(self, key, kernel, connection_file):
        """Starts a kernel without waiting for it; its pid."""
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
        """How the process ends that was to be a kernel."""
        return self.managers[key].provisioner.process.wait(DEADLINE_SECONDS)

    def run(self, key, code):
        """What the code prints."""
        printed = []

        def hear(message):
            if message["msg_type"] == "stream":
                printed.append(message["content"]["text"])

        reply = self.clients[key].execute_interactive(code, timeout=DEADLINE_SECONDS, output_hook=hear)
        return "".join(printed) if reply["content"]["status"] == "ok" else reply["content"]["ename"]

    def interrupt(self, key):
        """Interrupts code that would never end; the name of what it dies of."""
        client = self.clients[key]
        # One write, which comes in one message; and no call that a signal may come just too early to interrupt.
        code = "import sys\nsys.stdout.write('begun')\nwhile True: pass"
        # Or the kernel would give up on what comes next, too, if that comes soon enough.
        request = client.execute(code, stop_on_error=False)
        while client.get_iopub_msg(timeout=DEADLINE_SECONDS)["content"].get("text") != "begun":
            pass
        self.managers[key].interrupt_kernel()
        while True:
            reply = client.get_shell_msg(timeout=DEADLINE_SECONDS)
            if reply["parent_header"].get("msg_id") == request:
                return reply["content"].get("ename")

    def restart(self, key):
        """Its new pid."""
        self.clients.pop(key).stop_channels()
        self.managers[key].restart_kernel()
        self.ready(key)
        return self.managers[key].provisioner.process.pid

    def shutdown(self, key):
        if key in self.clients:
            self.clients.pop(key).stop_channels()
        self.managers.pop(key).shutdown_kernel()


def main():
    # What a kernel writes to its standard output is no answer.
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
