# SPDX-License-Identifier: LGPL-2.1-or-later
"""The use of the GPUs: the service's readings, and its descriptions of processes."""

import datetime

import pytest

import genv
from genv import usage
from genv.errors import Failed


class TestReadings:
    def test_readings_are_those_of_each_gpu_in_order_and_strictly_newer(self, world):
        world.run("alice", "genv.snapshot()")
        lines = world.run("alice", """
            first = genv.readings()
            say(sorted({(r.device, r.utilization, r.temperature, r.power) for r in first}))
            say([r.when for r in first] == sorted(r.when for r in first))
            say(genv.readings(since=first[-1].when))
            say(len(genv.readings(since=first[0].when - __import__("datetime").timedelta(seconds=1))) == len(first))
        """)
        assert lines == ["[(0, 93, 38, None), (1, 93, 38, None), (2, 93, 38, None), (3, 93, 38, None)]", "True", "[]", "True"]

    def test_a_time_before_the_epoch_is_one_from_the_oldest_on(self, world):
        assert world.run("alice", """
            import datetime
            say(len(genv.readings(since=datetime.datetime(1969, 1, 1))) == len(genv.readings()))
        """) == ["True"]


class TestPages:
    def test_pages_are_read_until_one_is_empty(self, monkeypatch):
        calls = []
        pages = {0: [(0, 5, 1, 2, 3, 4)], 5: [(0, 7, (1 << 64) - 1, (1 << 32) - 1, (1 << 31) - 1, (1 << 32) - 1)], 7: []}
        stand_in(monkeypatch, lambda _path, _method, after: (calls.append(after), (pages[after],))[1])
        first, last = genv.readings()
        assert calls == [0, 5, 7]
        assert (first.used_memory, first.utilization, first.temperature, first.power) == (1, 2, 3, 4)
        assert (last.used_memory, last.utilization, last.temperature, last.power) == (None, None, None, None)
        assert last.when == datetime.datetime.fromtimestamp(7e-6)


class TestDescriptions:
    GOOD = {
        "pid": ("u", 7), "uid": ("u", 1001), "user": ("s", "alice"), "environment": ("s", ""), "name": ("s", "python3"),
        "devices": ("a(utu)", [(0, 5, 50), (1, (1 << 64) - 1, (1 << 32) - 1)]), "started": ("t", 5_000_000),
    }

    def test_a_process_is_told_with_what_people_know_it_by(self, monkeypatch):
        stand_in(monkeypatch, lambda *_arguments: ([self.GOOD, {**self.GOOD, "environment": ("s", "4"),
                                                                 "started": ("t", (1 << 64) - 1)}],))
        first, second = genv.describe_processes()
        assert (first.pid, first.uid, first.user, first.environment, first.name) == (7, 1001, "alice", None, "python3")
        assert first.uses == [genv.ProcessUse(0, 5, 50), genv.ProcessUse(1, None, None)]
        assert first.started == datetime.datetime.fromtimestamp(5)
        assert (second.environment, second.started) == ("4", None)

    @pytest.mark.parametrize("name", sorted(GOOD))
    def test_an_answer_that_lacks_something_is_none(self, monkeypatch, name):
        for wrong in ({key: value for key, value in self.GOOD.items() if key != name}, {**self.GOOD, name: ("b", True)}):
            stand_in(monkeypatch, lambda *_arguments, answer=wrong: ([answer],))
            with pytest.raises(Failed):
                genv.describe_processes()

    def test_the_service_describes_no_process_where_none_uses_a_gpu(self, world):
        assert world.run("alice", "say(genv.describe_processes())") == ["[]"]


def stand_in(monkeypatch, call):
    class Connection:
        def __enter__(self):
            return self

        def __exit__(self, *_problem):
            return None

        def call(self, *arguments):
            return call(*arguments)

    monkeypatch.setattr(usage, "Connection", Connection)
