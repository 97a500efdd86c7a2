# SPDX-License-Identifier: LGPL-2.1-or-later
"""Converts entities to JSON and back: json.dumps(x, cls=JSONEncoder) and json.loads(text, cls=JSONDecoder).

A JSON object becomes the entity that has exactly the same keys. Any other object stays a dict. An object with the keys
of an entity and values of other types raises ValueError.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any, Callable, Dict, FrozenSet, List, NoReturn, Optional, Type

from genv.entities import Device, Devices, Env, Envs, Process, Processes, Report, Snapshot

Fields = Dict[str, Any]


def _refuse(key: str, value: object) -> NoReturn:
    raise ValueError(f"invalid {key!r}: unexpected type {type(value).__name__}")


def _take(fields: Fields, key: str, kind: Type[Any]) -> Any:
    value = fields[key]
    if not isinstance(value, kind) or isinstance(value, bool):
        _refuse(key, value)
    return value


def _optional(fields: Fields, key: str, kind: Type[Any]) -> Any:
    return None if fields[key] is None else _take(fields, key, kind)


def _list(fields: Fields, key: str, kind: Type[Any]) -> List[Any]:
    values: List[Any] = _take(fields, key, list)
    for value in values:
        if not isinstance(value, kind) or isinstance(value, bool):
            _refuse(f"{key}[]", value)
    return values


def _config(fields: Fields) -> Env.Config:
    return Env.Config(
        _optional(fields, "name", str), _optional(fields, "gpu_memory", str), _optional(fields, "gpus", int)
    )


def _env(fields: Fields) -> Env:
    return Env(
        _take(fields, "eid", str),
        _take(fields, "uid", int),
        _take(fields, "creation", str),
        _optional(fields, "username", str),
        _take(fields, "config", Env.Config),
        _list(fields, "pids", int),
        _list(fields, "kernel_ids", str),
    )


def _attachment(fields: Fields) -> Device.Attachment:
    return Device.Attachment(_take(fields, "eid", str), _optional(fields, "gpu_memory", str), _take(fields, "time", str))


def _device(fields: Fields) -> Device:
    return Device(
        _take(fields, "index", int), _optional(fields, "total_memory", str), _list(fields, "attachments", Device.Attachment)
    )


def _usage(fields: Fields) -> Process.Usage:
    return Process.Usage(_take(fields, "index", int), _optional(fields, "gpu_memory", str))


def _process(fields: Fields) -> Process:
    return Process(
        _take(fields, "pid", int), _list(fields, "used_gpu_memory", Process.Usage), _optional(fields, "eid", str)
    )


def _report(fields: Fields) -> Report:
    detach: Dict[int, Envs] = {}
    for index, envs in _take(fields, "detach", dict).items():
        if not (index.isascii() and index.isdigit()) or not isinstance(envs, Envs):
            _refuse(f"detach[{index}]", envs)
        detach[int(index)] = envs
    return Report(_take(fields, "terminate", Processes), detach)


_READERS: Dict[FrozenSet[str], Callable[[Fields], object]] = {
    frozenset({"name", "gpu_memory", "gpus"}): _config,
    frozenset({"eid", "uid", "creation", "username", "config", "pids", "kernel_ids"}): _env,
    frozenset({"envs"}): lambda fields: Envs(_list(fields, "envs", Env)),
    frozenset({"eid", "gpu_memory", "time"}): _attachment,
    frozenset({"index", "total_memory", "attachments"}): _device,
    frozenset({"devices"}): lambda fields: Devices(_list(fields, "devices", Device)),
    frozenset({"index", "gpu_memory"}): _usage,
    frozenset({"pid", "used_gpu_memory", "eid"}): _process,
    frozenset({"processes"}): lambda fields: Processes(_list(fields, "processes", Process)),
    frozenset({"processes", "envs", "devices"}): lambda fields: Snapshot(
        _take(fields, "processes", Processes), _take(fields, "envs", Envs), _take(fields, "devices", Devices)
    ),
    frozenset({"terminate", "detach"}): _report,
}

_ENTITIES = (
    Env,
    Env.Config,
    Envs,
    Device,
    Device.Attachment,
    Devices,
    Process,
    Process.Usage,
    Processes,
    Snapshot,
    Report,
)


class JSONEncoder(json.JSONEncoder):
    """Encodes entities in addition to the standard types."""

    def default(self, o: Any) -> Any:
        """Returns the JSON object of an entity."""
        if isinstance(o, _ENTITIES):
            return {each.name: getattr(o, each.name) for each in dataclasses.fields(o)}
        return super().default(o)


class JSONDecoder(json.JSONDecoder):
    """Decodes entities in addition to the standard types."""

    def __init__(self, *, object_hook: Optional[Callable[[Fields], Any]] = None, **options: Any) -> None:
        def read(fields: Fields) -> Any:
            reader = _READERS.get(frozenset(fields))
            if reader is not None:
                return reader(fields)
            return fields if object_hook is None else object_hook(fields)

        super().__init__(object_hook=read, **options)


def snapshot_from(text: str) -> Snapshot:
    """Returns the snapshot in a JSON text. Raises ValueError for any other text."""
    value = json.loads(text, cls=JSONDecoder)
    if not isinstance(value, Snapshot):
        raise ValueError("invalid snapshot")
    return value
