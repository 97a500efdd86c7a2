# SPDX-License-Identifier: LGPL-2.1-or-later
"""Whether genv is set up for a Slurm cluster, whose jobs only genvctl knows."""

from __future__ import annotations

import os
from pathlib import Path

from genv.errors import NotSupported

_CONFIGURATION = "/etc/genv/genv.conf"


def _configured() -> str:
    """Returns the value of Cluster= in genv.conf; "none" without one. genvctl complains about mistakes in it."""
    try:
        text = Path(os.environ.get("GENV_CONF") or _CONFIGURATION).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "none"
    cluster = "none"
    for line in text.splitlines():
        key, _, value = line.partition("=")
        if key.strip() == "Cluster":
            cluster = value.strip()
    return cluster


def is_chosen() -> bool:
    """Whether jobs are those of a cluster, as genvctl decides it: in a job on its node, they are the node's."""
    if os.environ.get("SLURM_JOB_ID") is not None and os.environ.get("SLURMD_NODENAME") is not None:
        return False
    return (os.environ.get("GENV_CLUSTER") or _configured()) == "slurm"


def require_this_machine(command: str) -> None:
    """Raises NotSupported on a cluster, and names the command to use there."""
    if is_chosen():
        raise NotSupported(
            f'the jobs of a Slurm cluster are not available in Python: use "{command}", or GENV_CLUSTER=none for the '
            "jobs of this machine"
        )
