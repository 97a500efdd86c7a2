# SPDX-License-Identifier: LGPL-2.1-or-later
"""Finds NVIDIA's driver on the machine, whose root is at /host, and makes it known to the dynamic linker of the kit."""

import glob
import os
import re
import subprocess

HOST = "/host"
LINKS = "/usr/lib/genv-driver"
NVML, CUDA = "libnvidia-ml.so.1", "libcuda.so.1"
FOLDERS = ("/usr/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib", "/usr/lib64/nvidia",
           "/usr/lib/nvidia", "/usr/lib/nvidia/lib64", "/usr/lib/nvidia/current", "/usr/lib/x86_64-linux-gnu/nvidia/current",
           "/usr/local/nvidia/lib64", "/usr/local/nvidia/lib", "/run/nvidia/driver/usr/lib64",
           "/run/nvidia/driver/usr/lib/x86_64-linux-gnu", "/run/opengl-driver/lib", "/usr/lib/wsl/lib",
           "/home/kubernetes/bin/nvidia/lib64", "/opt/nvidia/lib64", "/usr/lib/aarch64-linux-gnu/nvidia")
TOOLS = ("nvidia-smi", "nvidia-cuda-mps-control", "nvidia-cuda-mps-server")
TOOL_FOLDERS = ("/usr/bin", "/usr/sbin", "/bin", "/usr/local/bin", "/usr/local/nvidia/bin", "/opt/bin", "/opt/nvidia/bin",
                "/run/nvidia/driver/usr/bin", "/run/current-system/sw/bin", "/usr/lib/wsl/lib",
                "/home/kubernetes/bin/nvidia/bin")
MAX_LINKS = 40


def resolve(path):
    """Returns where a path of the machine leads, with its symbolic links followed as the machine does, below /host; or
    None."""
    parts, done, links = path.strip("/").split("/"), "", 0
    while parts:
        part = parts.pop(0)
        if part in ("", "."):
            continue
        if part == "..":
            done = os.path.dirname(done)
            continue
        here = f"{HOST}{done}/{part}"
        if os.path.islink(here):
            links += 1
            if links > MAX_LINKS:
                return None
            target = os.readlink(here)
            parts = target.strip("/").split("/") + parts
            done = "" if target.startswith("/") else done
        else:
            done = f"{done}/{part}"
    return HOST + done if os.path.exists(HOST + done) else None


def from_linker_cache():
    """Returns the folders in which the machine's own linker finds the driver."""
    try:
        done = subprocess.run(["chroot", HOST, "/bin/sh", "-c", "PATH=/usr/sbin:/sbin:/usr/bin:/bin ldconfig -p"],
                              capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return [os.path.dirname(path) for path in re.findall(r"libnvidia-ml\.so\.1 \(libc6,(?:x86-64|AArch64).*\) => (\S+)", done.stdout)]


def folders():
    """Returns the machine's folders with NVML, best first."""
    named = os.environ.get("DRIVER")
    candidates = [named, f"{named}/lib64", f"{named}/lib"] if named else [*from_linker_cache(), *FOLDERS]
    if not named:
        candidates += [os.path.dirname(path)[len(HOST):] for path in sorted(glob.glob(f"{HOST}/opt/*/lib*/{NVML}"))]
    return [folder for folder in dict.fromkeys(candidates) if resolve(f"{folder}/{NVML}")]


class Driver:
    """The driver of the machine, usable in the kit's root."""

    def __init__(self):
        found = folders()
        self.folder = found[0] if found else None
        self.tools = {}
        if self.folder:
            self._link_libraries(found)
            self._link_tools()

    def _link_libraries(self, found):
        for old in os.listdir(LINKS):
            os.unlink(os.path.join(LINKS, old))
        # libcuda may be beside NVML or in a folder of its own, as with the compatibility packages.
        others = [folder for folder in FOLDERS if resolve(f"{folder}/{CUDA}")]
        for folder in [*found[:1], *others]:
            for pattern in ("libnvidia-*.so*", "libcuda.so*", "libcudadebugger.so*", "libnvcuvid.so*"):
                for path in glob.glob(f"{resolve(folder)}/{pattern}"):
                    link = os.path.join(LINKS, os.path.basename(path))
                    target = resolve(f"{folder}/{os.path.basename(path)}")
                    if target and not os.path.lexists(link):
                        os.symlink(target, link)
        subprocess.run(["ldconfig"], check=True, capture_output=True)

    def _link_tools(self):
        beside = [f"{os.path.dirname(self.folder)}/bin", self.folder, f"{self.folder}/bin"]
        for tool in TOOLS:
            link = f"/usr/bin/{tool}"
            if os.path.islink(link):
                os.unlink(link)
            for folder in [*beside, *TOOL_FOLDERS]:
                target = resolve(f"{folder}/{tool}")
                if target and os.access(target, os.X_OK):
                    os.symlink(target, link)
                    self.tools[tool] = link
                    break

    @property
    def has_cuda(self):
        return os.path.exists(f"{LINKS}/{CUDA}")
