# SPDX-License-Identifier: LGPL-2.1-or-later
"""Environments, devices and processes as a snapshot has them, with the keys and texts of its JSON.

Each type has exactly the keys of its JSON object, which is how a reader knows it (genv.serialization). Memory is a text
such as "4g", a time the local one as in "20/11/2026 13:37:00". Names were chosen by other users: show them with repr(),
or in a place where control characters do no harm.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Collection, Dict, Iterator, List, Optional, Set, TypeVar, Union

from genv import memory

#: How the snapshot writes a time.
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
        """What its owner wants: a name, a share of each device's memory, a number of devices. None is unset.

        `gpu_memory` is a text such as "4g", or a number of bytes where one is asked for; what is read is a text.
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
        """When it began, in local time. Raises ValueError where `creation` is no time."""
        return datetime.strptime(self.creation, TIME_FORMAT)


@dataclass
class Envs:
    """Environments, oldest first."""

    envs: List[Env] = field(default_factory=list)

    @property
    def eids(self) -> List[str]:
        """Their ids."""
        return [env.eid for env in self.envs]

    @property
    def usernames(self) -> Set[str]:
        """Their owners' names."""
        return {env.username for env in self.envs if env.username is not None}

    def __iter__(self) -> Iterator[Env]:
        return iter(self.envs)

    def __len__(self) -> int:
        return len(self.envs)

    def __contains__(self, eid: object) -> bool:
        return any(env.eid == eid for env in self.envs)

    def __getitem__(self, eid: str) -> Env:
        """By id. Raises KeyError."""
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
        """Those for which everything that is given holds. `deep` makes no difference here."""
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
    """A GPU or a MIG instance, with who holds it."""

    @dataclass
    class Attachment:
        """An environment's hold on a device: the whole device where `gpu_memory` is None."""

        eid: str
        gpu_memory: Optional[str]
        time: str

        @property
        def since(self) -> datetime:
            """Since when, in local time. Raises ValueError where `time` is none."""
            return datetime.strptime(self.time, TIME_FORMAT)

    index: int
    total_memory: str
    attachments: List[Device.Attachment] = field(default_factory=list)

    @property
    def eids(self) -> List[str]:
        """The environments that hold it, in the order they came."""
        return [attachment.eid for attachment in self.attachments]

    @property
    def attached(self) -> bool:
        """Whether any environment holds it."""
        return bool(self.attachments)

    @property
    def total_bytes(self) -> int:
        """Its memory in bytes. Raises InvalidArgs where `total_memory` is no amount."""
        return memory.parse(self.total_memory)

    def filter(
        self, deep: bool = True, *, eid: Optional[str] = None, eids: Optional[Collection[str]] = None
    ) -> "Device":
        """The same device with the attachments of these environments only."""
        wanted = _wanted(eid, eids)
        return replace(self, attachments=[a for a in self.attachments if _matches(a.eid, wanted)])


@dataclass
class Devices:
    """Devices, by index."""

    devices: List[Device] = field(default_factory=list)

    @property
    def indices(self) -> List[int]:
        """Their indices."""
        return [device.index for device in self.devices]

    @property
    def eids(self) -> Set[str]:
        """The environments that hold any of them."""
        return {eid for device in self.devices for eid in device.eids}

    def __iter__(self) -> Iterator[Device]:
        return iter(self.devices)

    def __len__(self) -> int:
        return len(self.devices)

    def __contains__(self, index: object) -> bool:
        return any(device.index == index for device in self.devices)

    def __getitem__(self, index: int) -> Device:
        """By the index of the device. Raises KeyError."""
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
        """Those for which everything that is given holds. With `deep` they have only the attachments of the
        environments that were asked for."""
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
    """A process that the driver reports as using a GPU; `eid` is None outside every environment."""

    @dataclass
    class Usage:
        """What it uses of one device; `gpu_memory` is None where the driver does not know."""

        index: int
        gpu_memory: Optional[str]

    pid: int
    used_gpu_memory: List[Process.Usage] = field(default_factory=list)
    eid: Optional[str] = None

    @property
    def indices(self) -> List[int]:
        """The devices that it uses."""
        return [usage.index for usage in self.used_gpu_memory]

    def filter(
        self, deep: bool = True, *, index: Optional[int] = None, indices: Optional[Collection[int]] = None
    ) -> "Process":
        """The same process with what it uses of these devices only."""
        wanted = _wanted(index, indices)
        return replace(self, used_gpu_memory=[u for u in self.used_gpu_memory if _matches(u.index, wanted)])


@dataclass
class Processes:
    """Compute processes."""

    processes: List[Process] = field(default_factory=list)

    @property
    def pids(self) -> List[int]:
        """Their pids."""
        return [process.pid for process in self.processes]

    def __iter__(self) -> Iterator[Process]:
        return iter(self.processes)

    def __len__(self) -> int:
        return len(self.processes)

    def __contains__(self, pid: object) -> bool:
        return any(process.pid == pid for process in self.processes)

    def __getitem__(self, pid: int) -> Process:
        """By pid. Raises KeyError."""
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
        """Those for which everything that is given holds; None in `eids` stands for those outside every environment.
        With `deep` they have only what they use of the devices that were asked for."""
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
    """Everything at one moment."""

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
        """What is about the environments, or their owner, and about the devices that are given."""
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
    """What is to be done, as `genvctl usage execute` reads it: processes to end, and environments to detach from the
    device with each index."""

    terminate: Processes = field(default_factory=Processes)
    detach: Dict[int, Envs] = field(default_factory=dict)
