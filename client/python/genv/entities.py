# SPDX-License-Identifier: LGPL-2.1-or-later
"""The environments, devices and processes of a snapshot, with the keys and texts of its JSON.

Each type has exactly the keys of its JSON object, by which genv.serialization recognises it. Memory is a text such as
"4g", and a time is a local time such as "20/11/2026 13:37:00". Names are chosen by other users: print them with repr(),
or where control characters do no harm.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Collection, Dict, Iterator, List, Optional, Set, TypeVar, Union

from genv import memory

#: The format of times in a snapshot.
TIME_FORMAT = "%d/%m/%Y %H:%M:%S"

Value = TypeVar("Value")


def _wanted(one: Optional[Value], several: Optional[Collection[Value]]) -> Optional[Set[Value]]:
    if one is None and several is None:
        return None
    return {*(() if one is None else (one,)), *(several or ())}


def _matches(value: object, wanted: Optional[Set[Value]]) -> bool:
    return wanted is None or value in wanted


@dataclass
class Env:
    """An environment. `pids` are its root processes, `kernel_ids` its Jupyter kernels."""

    @dataclass
    class Config:
        """The configuration chosen by the owner: a name, a share of each device's memory, a number of devices.

        None means unset. `gpu_memory` is a text such as "4g". When setting a configuration, it may also be a number of
        bytes; when reading one, it is always a text.
        """

        name: Optional[str] = None
        gpu_memory: Union[str, int, None] = None
        gpus: Optional[int] = None

    eid: str
    uid: int
    creation: str
    username: Optional[str]
    config: Env.Config = field(default_factory=Config)
    pids: List[int] = field(default_factory=list)
    kernel_ids: List[str] = field(default_factory=list)

    @property
    def created(self) -> datetime:
        """The start time in local time. Raises ValueError if `creation` is not a valid time."""
        return datetime.strptime(self.creation, TIME_FORMAT)


@dataclass
class Envs:
    """Environments, oldest first."""

    envs: List[Env] = field(default_factory=list)

    @property
    def eids(self) -> List[str]:
        """The ids of the environments."""
        return [env.eid for env in self.envs]

    @property
    def usernames(self) -> Set[str]:
        """The names of the owners."""
        return {env.username for env in self.envs if env.username is not None}

    def __iter__(self) -> Iterator[Env]:
        return iter(self.envs)

    def __len__(self) -> int:
        return len(self.envs)

    def __contains__(self, eid: object) -> bool:
        return any(env.eid == eid for env in self.envs)

    def __getitem__(self, eid: str) -> Env:
        """Returns the environment with this id. Raises KeyError."""
        for env in self.envs:
            if env.eid == eid:
                return env
        raise KeyError(eid)

    def filter(
        self,
        deep: bool = True,
        *,
        eid: Optional[str] = None,
        eids: Optional[Collection[str]] = None,
        uid: Optional[int] = None,
        username: Optional[str] = None,
        name: Optional[str] = None,
        pid: Optional[int] = None,
        kernel_id: Optional[str] = None,
    ) -> "Envs":
        """Returns the environments that match all given arguments. `deep` has no effect here."""
        wanted = _wanted(eid, eids)

        def keep(env: Env) -> bool:
            return (
                _matches(env.eid, wanted)
                and (uid is None or env.uid == uid)
                and (username is None or env.username == username)
                and (name is None or env.config.name == name)
                and (pid is None or pid in env.pids)
                and (kernel_id is None or kernel_id in env.kernel_ids)
            )

        return Envs([env for env in self.envs if keep(env)])


@dataclass
class Device:
    """A GPU or a MIG instance, with its holders."""

    @dataclass
    class Attachment:
        """An environment's hold on a device. `gpu_memory` is None for the whole device."""

        eid: str
        gpu_memory: Optional[str]
        time: str

        @property
        def since(self) -> datetime:
            """The start of the attachment in local time. Raises ValueError if `time` is not a valid time."""
            return datetime.strptime(self.time, TIME_FORMAT)

    index: int
    #: None if the service does not know it.
    total_memory: Optional[str]
    attachments: List[Device.Attachment] = field(default_factory=list)

    @property
    def eids(self) -> List[str]:
        """The ids of the environments that hold the device, oldest attachment first."""
        return [attachment.eid for attachment in self.attachments]

    @property
    def attached(self) -> bool:
        """Whether any environment holds the device."""
        return bool(self.attachments)

    @property
    def total_bytes(self) -> int:
        """The memory of the device in bytes. Raises InvalidArgs if `total_memory` is not an amount of memory."""
        return memory.parse(self.total_memory or "unknown")

    def filter(
        self, deep: bool = True, *, eid: Optional[str] = None, eids: Optional[Collection[str]] = None
    ) -> "Device":
        """Returns the device with only the attachments of these environments."""
        wanted = _wanted(eid, eids)
        return replace(self, attachments=[a for a in self.attachments if _matches(a.eid, wanted)])


@dataclass
class Devices:
    """Devices, by index."""

    devices: List[Device] = field(default_factory=list)

    @property
    def indices(self) -> List[int]:
        """The indices of the devices."""
        return [device.index for device in self.devices]

    @property
    def eids(self) -> Set[str]:
        """The ids of the environments that hold any of the devices."""
        return {eid for device in self.devices for eid in device.eids}

    def __iter__(self) -> Iterator[Device]:
        return iter(self.devices)

    def __len__(self) -> int:
        return len(self.devices)

    def __contains__(self, index: object) -> bool:
        return any(device.index == index for device in self.devices)

    def __getitem__(self, index: int) -> Device:
        """Returns the device with this index. Raises KeyError."""
        for device in self.devices:
            if device.index == index:
                return device
        raise KeyError(index)

    def filter(
        self,
        deep: bool = True,
        *,
        index: Optional[int] = None,
        indices: Optional[Collection[int]] = None,
        eid: Optional[str] = None,
        eids: Optional[Collection[str]] = None,
        attached: Optional[bool] = None,
    ) -> "Devices":
        """Returns the devices that match all given arguments. With `deep`, they contain only the attachments of the
        given environments."""
        wanted, wanted_indices = _wanted(eid, eids), _wanted(index, indices)
        kept = [
            device
            for device in self.devices
            if _matches(device.index, wanted_indices)
            and (wanted is None or any(holder in wanted for holder in device.eids))
            and (attached is None or device.attached == attached)
        ]
        return Devices([device.filter(eids=wanted) for device in kept] if deep else kept)


@dataclass
class Process:
    """A process that the driver reports as using a GPU. `eid` is None if it belongs to no environment."""

    @dataclass
    class Usage:
        """The use of one device by the process. `gpu_memory` is None if the driver does not report it."""

        index: int
        gpu_memory: Optional[str]

    pid: int
    used_gpu_memory: List[Process.Usage] = field(default_factory=list)
    eid: Optional[str] = None

    @property
    def indices(self) -> List[int]:
        """The indices of the devices that the process uses."""
        return [usage.index for usage in self.used_gpu_memory]

    def filter(
        self, deep: bool = True, *, index: Optional[int] = None, indices: Optional[Collection[int]] = None
    ) -> "Process":
        """Returns the process with only its use of these devices."""
        wanted = _wanted(index, indices)
        return replace(self, used_gpu_memory=[u for u in self.used_gpu_memory if _matches(u.index, wanted)])


@dataclass
class Processes:
    """Compute processes."""

    processes: List[Process] = field(default_factory=list)

    @property
    def pids(self) -> List[int]:
        """The PIDs of the processes."""
        return [process.pid for process in self.processes]

    def __iter__(self) -> Iterator[Process]:
        return iter(self.processes)

    def __len__(self) -> int:
        return len(self.processes)

    def __contains__(self, pid: object) -> bool:
        return any(process.pid == pid for process in self.processes)

    def __getitem__(self, pid: int) -> Process:
        """Returns the process with this PID. Raises KeyError."""
        for process in self.processes:
            if process.pid == pid:
                return process
        raise KeyError(pid)

    def filter(
        self,
        deep: bool = True,
        *,
        pid: Optional[int] = None,
        pids: Optional[Collection[int]] = None,
        eid: Optional[str] = None,
        eids: Optional[Collection[Optional[str]]] = None,
        index: Optional[int] = None,
        indices: Optional[Collection[int]] = None,
    ) -> "Processes":
        """Returns the processes that match all given arguments. None in `eids` stands for processes outside every
        environment. With `deep`, they contain only the use of the given devices."""
        wanted_pids, wanted_indices = _wanted(pid, pids), _wanted(index, indices)
        wanted_eids: Optional[Set[Optional[str]]] = None
        if eid is not None or eids is not None:
            wanted_eids = {*(() if eid is None else (eid,)), *(eids or ())}
        kept = [
            process
            for process in self.processes
            if _matches(process.pid, wanted_pids)
            and _matches(process.eid, wanted_eids)
            and (wanted_indices is None or any(used in wanted_indices for used in process.indices))
        ]
        return Processes([process.filter(indices=wanted_indices) for process in kept] if deep else kept)


@dataclass
class Snapshot:
    """The state of the machine at one moment."""

    processes: Processes = field(default_factory=Processes)
    envs: Envs = field(default_factory=Envs)
    devices: Devices = field(default_factory=Devices)

    def filter(
        self,
        deep: bool = True,
        *,
        eid: Optional[str] = None,
        eids: Optional[Collection[str]] = None,
        uid: Optional[int] = None,
        username: Optional[str] = None,
        index: Optional[int] = None,
        indices: Optional[Collection[int]] = None,
    ) -> "Snapshot":
        """Returns the part of the snapshot about the given environments, their owner, and the given devices."""
        about_environments = any(given is not None for given in (eid, eids, uid, username))
        envs = self.envs.filter(deep, eid=eid, eids=eids, uid=uid, username=username)
        kept = envs.eids if about_environments else None
        return Snapshot(
            self.processes.filter(deep, eids=kept, index=index, indices=indices),
            envs,
            self.devices.filter(deep, eids=kept, index=index, indices=indices),
        )


@dataclass
class Report:
    """Actions for `genvctl usage execute`: processes to end, and environments to detach from each device, by index."""

    terminate: Processes = field(default_factory=Processes)
    detach: Dict[int, Envs] = field(default_factory=dict)
