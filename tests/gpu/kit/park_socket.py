# SPDX-License-Identifier: LGPL-2.1-or-later
"""park_socket.py PATH: starts a genv-park for each connection to a socket, as systemd does for genv-park.socket."""

import os
import signal
import socket
import subprocess
import sys

HELPER = "/usr/libexec/genv/genv-park"


def main():
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps
    path = sys.argv[1]
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(128)
    while True:
        connection, _ = listener.accept()
        with connection:
            subprocess.Popen([HELPER], stdin=connection, stdout=connection)


if __name__ == "__main__":
    main()
