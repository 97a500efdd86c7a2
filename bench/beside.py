# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the parts of the benchmark share that measure genv beside other programs: Debian's task-spooler, and alice on a
bus with genvd."""

import subprocess
import sys
import time

# A task-spooler of its own, which remembers nothing.
SPOOLER = ("env", "TS_SOCKET=/tmp/genv-bench-tsp", "TS_SAVELIST=/dev/null")


def let_tsp_run(slots):
    """Empties the list of task-spooler, and lets it run so many tasks at once."""
    subprocess.run(["tsp", "-C"], check=True)
    subprocess.run(["tsp", "-S", str(slots)], check=True)


def many_by_tsp(count):
    """Runs `true` as tasks of task-spooler, and returns once all have ended."""
    for _ in range(count):
        subprocess.run(["tsp", "-n", "/usr/bin/true"], check=True, stdout=subprocess.DEVNULL)
    while any(line.split()[1:2] in (["running"], ["queued"])
              for line in subprocess.run(["tsp"], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()):
        time.sleep(0.01)


def measure_as_alice(script, build, gpus, quick):
    """As root on a private bus: starts genvd, and runs a script with --as-user as alice."""
    from private_service import AS_USER, Service  # noqa: PLC0415  # only there is there such a bus

    further = [build, *(["--quick"] if quick else [])]
    with Service(build, gpus):
        subprocess.run([AS_USER, "alice", *SPOOLER, sys.executable, script, "--as-user", *further], check=True)
        subprocess.run([AS_USER, "alice", *SPOOLER, "tsp", "-K"], check=False, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
