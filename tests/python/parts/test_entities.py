# SPDX-License-Identifier: LGPL-2.1-or-later
"""The entities, their filters, and their JSON, whose keys are the contract with other programs."""

import json
from datetime import datetime

import pytest

import genv
from genv.entities import Device, Process

TEXT = """{"processes": {"processes": [
    {"pid": 10, "used_gpu_memory": [{"index": 0, "gpu_memory": "42mi"}, {"index": 1, "gpu_memory": null}], "eid": "a"},
    {"pid": 11, "used_gpu_memory": [{"index": 1, "gpu_memory": "1mi"}], "eid": null}]},
  "envs": {"envs": [
    {"eid": "a", "uid": 1001, "creation": "20/11/2026 13:37:00", "username": "alice",
     "config": {"name": "n", "gpu_memory": "4g", "gpus": 2}, "pids": [1], "kernel_ids": ["k"]},
    {"eid": "b", "uid": 1002, "creation": "20/11/2026 13:38:00", "username": "bob",
     "config": {"name": null, "gpu_memory": null, "gpus": null}, "pids": [2, 3], "kernel_ids": []}]},
  "devices": {"devices": [
    {"index": 0, "total_memory": "15258mi", "attachments": [{"eid": "a", "gpu_memory": "4g", "time": "20/11/2026 13:37:01"}]},
    {"index": 1, "total_memory": "15258mi", "attachments": [
      {"eid": "a", "gpu_memory": "4g", "time": "20/11/2026 13:37:01"},
      {"eid": "b", "gpu_memory": null, "time": "20/11/2026 13:38:01"}]},
    {"index": 2, "total_memory": "15258mi", "attachments": []}]}}"""


@pytest.fixture
def snapshot():
    return json.loads(TEXT, cls=genv.JSONDecoder)


class TestJson:
    def test_it_comes_back_to_the_key(self, snapshot):
        assert isinstance(snapshot, genv.Snapshot)
        assert json.dumps(snapshot, cls=genv.JSONEncoder) == json.dumps(json.loads(TEXT))

    def test_each_type_is_known_by_its_keys(self, snapshot):
        parts = (snapshot.processes, snapshot.envs, snapshot.devices, snapshot.envs["a"], snapshot.envs["a"].config,
                 snapshot.devices[1], snapshot.devices[1].attachments[0], snapshot.processes[10],
                 snapshot.processes[10].used_gpu_memory[0])
        for part in parts:
            again = json.loads(json.dumps(part, cls=genv.JSONEncoder), cls=genv.JSONDecoder)
            assert type(again) is type(part) and again == part

    def test_a_report(self, snapshot):
        report = genv.Report(snapshot.processes.filter(pid=11), {1: snapshot.envs.filter(eid="b")})
        text = json.dumps(report, cls=genv.JSONEncoder)
        assert list(json.loads(text)) == ["terminate", "detach"]
        assert list(json.loads(text)["detach"]) == ["1"]
        assert json.loads(text, cls=genv.JSONDecoder) == report

    def test_other_objects_stay_what_they_are(self):
        assert json.loads('{"a": {"name": 1}, "b": [true]}', cls=genv.JSONDecoder) == {"a": {"name": 1}, "b": [True]}
        with pytest.raises(TypeError):
            json.dumps(object(), cls=genv.JSONEncoder)

    @pytest.mark.parametrize("text", [
        '{"envs": 5}', '{"envs": [5]}', '{"processes": [{"pid": 1}]}', '{"index": "0", "gpu_memory": null}',
        '{"index": true, "gpu_memory": null}', '{"pid": 1, "used_gpu_memory": [], "eid": 5}',
        '{"terminate": [], "detach": {}}', '{"terminate": {"processes": []}, "detach": {"x": {"envs": []}}}',
        '{"terminate": {"processes": []}, "detach": {"0": []}}',
        '{"index": 0, "total_memory": "1g", "attachments": [1]}'])
    def test_keys_of_an_entity_with_values_of_something_else(self, text):
        with pytest.raises(ValueError):
            json.loads(text, cls=genv.JSONDecoder)


class TestFilters:
    def test_environments(self, snapshot):
        envs = snapshot.envs
        assert envs.filter(username="alice").eids == ["a"]
        assert envs.filter(eids=["a", "b"], uid=1002).eids == ["b"]
        assert envs.filter(pid=3).eids == ["b"]
        assert envs.filter(kernel_id="k").eids == ["a"]
        assert envs.filter(name="n").eids == ["a"]
        assert envs.filter(eid="a", eids=[]).eids == ["a"]
        assert envs.filter(eids=[]).eids == []
        assert envs.filter().eids == ["a", "b"] and len(envs) == 2 and "a" in envs and "c" not in envs
        assert envs.usernames == {"alice", "bob"}
        with pytest.raises(KeyError):
            envs["c"]

    def test_devices(self, snapshot):
        devices = snapshot.devices
        assert devices.filter(attached=False).indices == [2]
        assert devices.filter(eid="b").indices == [1]
        assert devices.filter(eid="b")[1].eids == ["b"]
        assert devices.filter(False, eid="b")[1].eids == ["a", "b"]
        assert devices.filter(indices=[0, 2], attached=True).indices == [0]
        assert devices.eids == {"a", "b"} and 2 in devices and [d.index for d in devices] == [0, 1, 2]

    def test_processes(self, snapshot):
        processes = snapshot.processes
        assert processes.filter(eid="a").pids == [10]
        assert processes.filter(eids=[None]).pids == [11]
        assert processes.filter(index=1).pids == [10, 11]
        assert processes.filter(index=1)[10].indices == [1]
        assert processes.filter(deep=False, index=1)[10].indices == [0, 1]
        assert processes.filter(pids=[11]).pids == [11]

    def test_a_snapshot(self, snapshot):
        alices = snapshot.filter(username="alice")
        assert (alices.envs.eids, alices.processes.pids, alices.devices.indices) == (["a"], [10], [0, 1])
        assert alices.devices[1].eids == ["a"]
        first = snapshot.filter(index=0)
        assert (len(first.envs), first.processes.pids, first.devices.indices) == (2, [10], [0])
        assert snapshot.filter() == snapshot


class TestValues:
    def test_times_and_amounts(self, snapshot):
        assert snapshot.envs["a"].created == datetime(2026, 11, 20, 13, 37)
        assert snapshot.devices[0].attachments[0].since == datetime(2026, 11, 20, 13, 37, 1)
        assert snapshot.devices[0].total_bytes == 15258 << 20
        assert Device(0, "1g").attached is False and Process(1).indices == []
