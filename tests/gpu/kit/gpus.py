# SPDX-License-Identifier: LGPL-2.1-or-later
"""The GPUs that the checks may use: those without a process of somebody else, without unaccounted memory, and that no
environment of the machine's own genv holds. Everything is looked up again for each check."""

import json
import os
import subprocess

LOOK_SECONDS = 30
MIB = 2**20
GIB = 2**30


class Unknown(Exception):
    """The driver does not say what is on the GPUs."""


def look():
    """Returns what NVML reports now; see look.py."""
    try:
        done = subprocess.run(["/usr/bin/python3", "-B", "/kit/look.py"], capture_output=True, text=True,
                              timeout=LOOK_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise Unknown(f"the driver has not answered for {LOOK_SECONDS} s") from error
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        raise Unknown(lines[-1] if lines else f"look.py ended with status {done.returncode}")
    return json.loads(done.stdout)


def held_by_own_genv():
    """Returns the text of the environments of a genvd of the machine itself."""
    texts, folder = [], "/host/run/genv/environments"
    try:
        for name in os.listdir(folder):
            with open(f"{folder}/{name}", encoding="utf-8", errors="replace") as file:
                texts.append(file.read())
    except OSError:
        pass
    return "".join(texts)


def reason_against(device, is_ours, held):
    """Returns why a device of look() may not be used, or None."""
    if "error" in device:
        return f"NVML reports error {device['error']}"
    if device["mig"]:
        return "it is in MIG mode"
    if device["uuid"] in held:
        return "an environment of this machine's genv holds it"
    foreign = [process for process in device["processes"] if not is_ours(process["pid"])]
    if foreign:
        return f"process {foreign[0]['pid']} uses it"
    known = sum(process["memory"] or 0 for process in device["processes"])
    if device["used"] - known > max(GIB, device["total"] // 50):
        return f"{(device['used'] - known) // MIB} MiB of its memory belong to no known process"
    return None


class Gpus:
    def __init__(self, is_ours):
        self._is_ours = is_ours

    def sorted(self):
        """Returns the usable devices of look(), and the reasons against the others by index."""
        held, usable, reasons = held_by_own_genv(), [], {}
        for device in look()["devices"]:
            reason = reason_against(device, self._is_ours, held)
            if reason:
                reasons[device["index"]] = reason
            else:
                usable.append(device)
        return usable, reasons

    def foreign_processes(self):
        """Returns the PIDs of processes of others on any GPU."""
        return [process["pid"] for device in look()["devices"] for process in device.get("processes", ())
                if not self._is_ours(process["pid"])]

    def are_unknown(self):
        """Returns whether there is a GPU whose processes cannot be listed."""
        return any("error" in device for device in look()["devices"])
