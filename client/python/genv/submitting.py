# SPDX-License-Identifier: LGPL-2.1-or-later
"""Submits commands as jobs, which wait for their GPUs and run without this process, also after a logout."""

from __future__ import annotations

import os
import re
from datetime import datetime
from pathlib import Path
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from genv import cluster, contract, memory, project
from genv.errors import InvalidArgs, NotSupported
from genv.service import Options, memory_variant, variant
from genv.service import preemptible as preemptible_option
from genv.submitted import Job, Link
from genv.waiting import Span, seconds

#: A word of a command or a path. The bus carries any bytes but 0.
Word = Union[str, bytes, "os.PathLike[str]"]
#: A job to wait for, and its end: "ok" (all tasks are done), "fail" or "any".
Dependency = Union[Job, int, Tuple[Union[Job, int], str]]

_MAX_NUMBER = (1 << 32) - 1
# Control groups of Slurm's jobs (core/model/slurm_cgroup.hpp).
_SLURM_JOB = re.compile(r"/(?:[A-Za-z0-9._-]*slurmstepd\.scope|slurm[^/]*(?:/uid_\d+)?)/job_")


def submit(
    command: Sequence[Word],
    *,
    gpus: Optional[int] = None,
    gpu_memory: Union[str, int, None] = None,
    indices: Optional[Sequence[int]] = None,
    uuids: Optional[Sequence[str]] = None,
    model: Optional[str] = None,
    lifetime: Optional[Span] = None,
    allow_over_subscription: bool = False,
    over_subscribable: bool = False,
    preemptible: Union[bool, str] = False,
    array: Optional[Iterable[Union[int, Word]]] = None,
    parallel: int = 0,
    after: Union[Dependency, Sequence[Dependency]] = (),
    retries: int = 0,
    priority: int = 0,
    begin: Optional[datetime] = None,
    hold: bool = False,
    name: Optional[str] = None,
    output: Optional[Word] = None,
    cpus: Optional[int] = None,
    memory_limit: Union[str, int, None] = None,
    folder: Optional[Word] = None,
    environment: Optional[Mapping[str, str]] = None,
) -> Job:
    """Submits a command and returns a handle of the job, which is on the disk by then.

    command: the program and its arguments. No shell reads them.
    gpus, gpu_memory, indices, uuids, model, lifetime, allow_over_subscription, over_subscribable, preemptible: as in
        genv.sdk.activate(). Without a number, it is that of `.genv`, or 1.
    array: runs a task for each value. "{}" in a word of the command, and the variable GENV_ARRAY_TASK, stand for the
        value. The numbers of the tasks are the values, if these are different whole numbers, else 1, 2, 3...
    parallel: how many tasks may run at once; 0 means any number.
    after: starts only after other jobs, each a handle or a number, or a pair of it and "ok", "fail" or "any".
    retries: how often a task that fails, or is lost in a crash, is started again.
    priority: the place among your own jobs, from -100 to 100; higher ones start first.
    begin: starts no earlier than at this time.
    hold: starts only after release().
    output: a file for the output, with "{}" as in the command. None: a log, see Job.log().
    cpus, memory_limit: what each task may use of the machine's processors and memory.
    folder, environment: of the command. None: those of this process.

    Raises InvalidArgs; NotEnoughDevices or DeviceUnavailable if the machine can never give such GPUs; NoSuchJob for
    `after`; NotSupported inside a job of Slurm and on a cluster; and ServiceUnavailable where no user manager runs, as in a container.
    """
    cluster.require_this_machine("genvctl submit")
    if _is_in_slurm_job():
        raise NotSupported("genv submits no jobs inside a Slurm job: Slurm assigns the GPUs of this machine")
    options: Options = {
        "command": ("aay", _words(command)),
        "folder": ("ay", _bytes(os.getcwd() if folder is None else folder, "folder")),
        "environment": ("aay", _variables(environment)),
        "umask": ("u", _umask()),
        "request": (
            "a{sv}",
            _request(
                gpus, gpu_memory, indices, uuids, model, lifetime, allow_over_subscription, over_subscribable, preemptible
            ),
        ),
        "after": ("a(us)", _dependencies(after)),
    }
    if array is not None:
        options["array"] = ("a(uay)", _tasks(array))
    for key, signature, value in (
        ("parallel", "u", parallel), ("retries", "u", retries), ("priority", "i", priority), ("hold", "b", hold),
        ("name", "s", name), ("cpus", "u", cpus),
    ):  # fmt: skip
        if value is not None and value is not False and value != 0:
            options[key] = variant(signature, value, key)
    if begin is not None:
        options["begin"] = variant("t", int(begin.timestamp() * 1_000_000), "begin")
    if output is not None:
        options["output"] = ("ay", _bytes(output, "output"))
    if memory_limit is not None:
        amount = memory.parse(memory_limit) if isinstance(memory_limit, str) else memory_limit
        options["memory"] = variant("t", amount, "memory_limit")
    with Link() as link:
        return Job(link.call_jobs(contract.SUBMIT_JOB, options))


def _is_in_slurm_job() -> bool:
    try:
        return _SLURM_JOB.search(Path("/proc/self/cgroup").read_text(encoding="utf-8", errors="replace")) is not None
    except OSError:
        return False


def _bytes(word: Any, what: str) -> bytes:
    try:
        raw = os.fsencode(word)
    except (TypeError, UnicodeEncodeError):
        raise InvalidArgs(f"invalid {what} {word!r}: expected text, bytes or a path") from None
    if b"\0" in raw:
        raise InvalidArgs(f"invalid {what} {word!r}: it has a zero byte")
    return raw


def _words(command: Sequence[Word]) -> List[bytes]:
    if isinstance(command, (str, bytes)):
        raise InvalidArgs(f"invalid command {command!r}: expected a list of words, such as ['python', 'train.py']")
    return [_bytes(word, "word of the command") for word in command]


def _variables(environment: Optional[Mapping[str, str]]) -> List[bytes]:
    pairs = os.environb.items() if environment is None else environment.items()
    return [_bytes(name, "variable") + b"=" + _bytes(value, "variable") for name, value in pairs]


def _umask() -> int:
    for line in Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines():
        if line.startswith("Umask:"):
            return int(line.split()[1], 8)
    return 0o22


def _request(
    gpus: Optional[int],
    gpu_memory: Union[str, int, None],
    indices: Optional[Sequence[int]],
    uuids: Optional[Sequence[str]],
    model: Optional[str],
    lifetime: Optional[Span],
    allow_over_subscription: bool,
    over_subscribable: bool,
    preemptible: Union[bool, str],
) -> Options:
    request: Options = {}
    if indices is not None:
        request["indices"] = ("au", [variant("u", index, "index")[1] for index in indices])
    if uuids is not None:
        request["uuids"] = ("as", [variant("s", uuid, "UUID")[1] for uuid in uuids])
    home = project.home()
    saved = None if home is None else project.load(home)
    if gpus is not None or (indices is None and uuids is None):
        count = gpus if gpus is not None else (saved.gpus if saved and saved.gpus else 1)
        request["gpus"] = variant("u", count, "number of GPUs")
    amount = gpu_memory if gpu_memory is not None or saved is None else saved.gpu_memory
    if amount is not None:
        request["gpu-memory"] = memory_variant(amount, "gpu_memory")
    if model is not None:
        request["model"] = variant("s", model, "model")
    if lifetime is not None:
        request["lifetime"] = variant("t", seconds(lifetime, "lifetime"), "lifetime")
    if allow_over_subscription:
        request["over-subscribe"] = ("b", True)
    if over_subscribable:
        request["over-subscribable"] = ("b", True)
    if preemptible:
        request["preemptible"] = preemptible_option(preemptible)
    return request


def _tasks(array: Iterable[Union[int, Word]]) -> List[Tuple[int, bytes]]:
    if isinstance(array, (str, bytes, Mapping)):
        raise InvalidArgs(f"invalid array {array!r}: expected values, such as range(200)")
    values = list(array)
    numbers: Dict[int, bytes] = {
        value: str(value).encode()
        for value in values
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MAX_NUMBER
    }
    if len(numbers) == len(values):
        return sorted(numbers.items())
    return [(number, _bytes(str(value) if isinstance(value, (int, float)) else value, "value of the array"))
            for number, value in enumerate(values, 1)]  # fmt: skip


def _dependencies(after: Any) -> List[Tuple[int, str]]:
    is_pair = isinstance(after, tuple) and len(after) == 2 and isinstance(after[1], str)
    each = [after] if isinstance(after, (Job, int)) or is_pair else after
    return [_dependency(*one) if isinstance(one, tuple) else _dependency(one) for one in each]


def _dependency(job: Union[Job, int], condition: str = "ok") -> Tuple[int, str]:
    number = job.number if isinstance(job, Job) else job
    return variant("u", number, "job")[1], variant("s", condition, "condition")[1]
