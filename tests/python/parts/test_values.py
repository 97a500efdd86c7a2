# SPDX-License-Identifier: LGPL-2.1-or-later
"""Amounts of memory, the folder .genv, addresses, messages, and the variables for CUDA."""

import os
import socket
import stat
import struct

import pytest

import genv
from genv import address, connection, contract, memory, project, service, starting, waiting, wire


class TestMemory:
    @pytest.mark.parametrize("text, amount", [("1b", 1), ("42mi", 42 << 20), ("4g", 4 * 10**9), ("4G", 4 * 10**9),
                                              ("7b", 7), ("2k", 2000), ("2ki", 2048), ("3m", 3 * 10**6),
                                              ("1Gi", 1 << 30), ("8GiB", 8 << 30),
                                              ("40GB", 40 * 10**9), ("1tb", 10**12), ("1048576", 1 << 20), ("9223372036854775807", (1 << 63) - 1)])
    def test_units(self, text, amount):
        assert memory.parse(text) == amount
        assert memory.parse(memory.text_of(amount)) == amount

    @pytest.mark.parametrize("text", ["", "g", "4 g", "-1", "1.5g", "4gg", "4bb", "0", "0g", "٤", "9223372036854775808",
                                      "10000000000g", "1" * 100, "4g\n"])
    def test_what_is_none(self, text):
        with pytest.raises(genv.InvalidArgs):
            memory.parse(text)

    @pytest.mark.parametrize("text, likely", [("8", "8g"), ("80", "80g"), ("8000", "8000m"), ("1048575", "1048575m")])
    def test_a_forgotten_unit(self, text, likely):
        with pytest.raises(genv.InvalidArgs, match=f"Did you mean {likely}"):
            memory.parse(text)

    def test_texts_are_as_short_as_the_services(self):
        assert [memory.text_of(n) for n in (0, 1, 1000, 1024, 4 << 30, 4 * 10**9, 1024000, 1234)] == [
            "0", "1b", "1k", "1ki", "4gi", "4g", "1000ki", "1234b"]


class TestProject:
    def test_home_is_the_working_folders_or_the_users(self, tmp_path, monkeypatch):
        (tmp_path / "work").mkdir()
        (tmp_path / "home" / ".genv").mkdir(parents=True)
        (tmp_path / "link").symlink_to(tmp_path / "work")
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        monkeypatch.chdir(tmp_path / "work")
        assert genv.sdk.home() == tmp_path / "home" / ".genv"
        (tmp_path / "work" / ".genv").mkdir()
        assert genv.sdk.home() == tmp_path / "work" / ".genv"
        monkeypatch.setenv("PWD", str(tmp_path / "link"))
        assert genv.sdk.home() == tmp_path / "link" / ".genv"
        monkeypatch.setenv("PWD", "/elsewhere")
        assert genv.sdk.home() == tmp_path / "work" / ".genv"
        (tmp_path / "work" / ".genv").rmdir()
        monkeypatch.delenv("HOME")
        assert genv.sdk.home() is None

    def test_a_file_for_each_field(self, tmp_path):
        folder = str(tmp_path)
        assert project.load(folder) == genv.Env.Config()
        project.save(folder, genv.Env.Config(name="ü", gpu_memory="4g", gpus=2))
        assert sorted(os.listdir(folder)) == ["gpu-memory", "gpus", "name"]
        assert project.load(folder) == genv.Env.Config("ü", "4g", 2)
        project.save(folder, genv.Env.Config(gpus=1))
        assert os.listdir(folder) == ["gpus"]
        (tmp_path / "name").write_text(" \n")
        (tmp_path / "gpus").write_text("\t0\n")
        assert project.load(folder) == genv.Env.Config()

    def test_a_file_has_the_users_mask_and_a_link_is_replaced(self, tmp_path):
        target = tmp_path / "target"
        target.write_text("kept")
        (tmp_path / "name").symlink_to(target)
        before = os.umask(0o027)
        try:
            project.save(str(tmp_path), genv.Env.Config(name="n"))
        finally:
            os.umask(before)
        assert target.read_text() == "kept"
        assert stat.S_IMODE(os.lstat(tmp_path / "name").st_mode) == 0o640

    def test_what_cannot_be_read_is_named(self, tmp_path):
        def complaint():
            with pytest.raises(genv.Error) as caught:
                project.load(str(tmp_path))
            return str(caught.value)

        file = tmp_path / "gpus"
        for text in ("two", "-1", "4294967296", "1" * 300, "٢"):
            file.write_text(text)
            assert str(file) in complaint()
        file.write_bytes(b"\xff")
        assert str(file) in complaint()
        file.unlink()
        os.mkfifo(file)
        assert str(file) in complaint()
        file.unlink()
        file.symlink_to(tmp_path / "elsewhere")
        assert str(file) in complaint()
        file.unlink()
        (tmp_path / "gpu-memory").write_text("lots")
        assert str(tmp_path / "gpu-memory") in complaint()

    def test_what_cannot_be_saved_is_named_and_leaves_nothing(self, tmp_path):
        (tmp_path / "name").mkdir()
        with pytest.raises(genv.Error, match="name cannot be saved"):
            project.save(str(tmp_path), genv.Env.Config(name="n"))
        assert os.listdir(tmp_path) == ["name"]


class TestAddresses:
    @pytest.mark.parametrize("given, sockets", [
        ("unix:path=/a%20b,guid=00", ["/a b"]),
        ("unix:abstract=/tmp/x", ["\0/tmp/x"]),
        ("tcp:host=h,port=1;unix:path=/a;unix:abstract=b", ["/a", "\0b"]),
        ("", ["/run/dbus/system_bus_socket", "/var/run/dbus/system_bus_socket"]),
    ])
    def test_sockets(self, monkeypatch, given, sockets):
        monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", given)
        assert address.system_bus_sockets() == sockets

    @pytest.mark.parametrize("given", ["tcp:host=h", "nonsense", "unix:runtime=yes", ";;", "unix:path="])
    def test_none(self, monkeypatch, given):
        monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", given)
        with pytest.raises(genv.ServiceUnavailable):
            address.system_bus_sockets()


class TestVisibleDevices:
    class Machine:
        """A connection to a machine with these UUIDs."""

        def __init__(self, *uuids, mode="none"):
            self.uuids, self.mode, self.calls = uuids, mode, 0

        def call(self, path, method, *arguments):
            assert path == contract.MANAGER_PATH
            self.calls += 1
            if method == contract.GET:
                assert arguments == (contract.MANAGER, contract.ISOLATION)
                return (("s", self.mode),)
            assert method == contract.LIST_DEVICES
            return ([(index, uuid, "model", 1, "/path") for index, uuid in enumerate(self.uuids)],)

    def test_indices_or_uuids_where_any_gpu_is_in_mig_mode(self):
        gpus = self.Machine("GPU-a", "GPU-b", "GPU-c")
        assert service.visible_devices(gpus, [2, 0]) == "0,2"
        mixed = self.Machine("GPU-a", "MIG-b", "MIG-c")
        assert service.visible_devices(mixed, [0]) == "GPU-a"
        assert service.visible_devices(mixed, [2, 1]) == "MIG-b,MIG-c"
        assert service.visible_devices(mixed, [7]) == "-1"

    def test_uuids_while_isolation_is_in_force(self):
        for mode in ("watch", "user", "one of a later version"):
            assert service.visible_devices(self.Machine("GPU-a", "GPU-b", "GPU-c", mode=mode), [2, 0]) == "GPU-a,GPU-c"
        assert service.visible_devices(self.Machine("GPU-a", "GPU-b"), [1]) == "1"

    def test_uuids_within_another_environment(self):
        assert service.visible_devices(self.Machine("GPU-a", "GPU-b"), [1], other_indices=True) == "GPU-b"

    def test_nothing_attached_takes_no_call_and_devices_take_two(self):
        gpus = self.Machine("GPU-a", mode="user")
        assert service.visible_devices(gpus, []) == "-1"
        assert gpus.calls == 0
        service.visible_devices(gpus, [0])
        assert gpus.calls == 2


class TestTimes:
    def test_seconds_are_whole_and_never_too_few(self):
        from datetime import timedelta

        assert [waiting.seconds(span, "timeout") for span in (1, 0.1, 2.0, timedelta(minutes=1))] == [1, 1, 2, 60]

    def test_what_is_left_is_never_nothing(self, monkeypatch):
        now = [100.0]
        monkeypatch.setattr(waiting.time, "monotonic", lambda: now[0])
        left = waiting.RemainingTime(10)
        assert left.put_into({"wait": ("b", True)}) == {"wait": ("b", True), "timeout": ("t", 10)}
        now[0] = 104.5
        assert left.put_into({})["timeout"] == ("t", 6)
        now[0] = 200.0
        assert left.put_into({})["timeout"] == ("t", 1)
        assert waiting.RemainingTime(None).put_into({}) == {}


class TestMessages:
    def test_a_call_says_whether_a_person_may_be_asked(self):
        for interactive in (False, True):
            data = wire.encode_call(7, "a.b", "/p", "i.f", "Member", "a{sv}as", ({"x": ("u", 1)}, ["y"]), interactive)
            assert bool(data[2] & 4) == interactive
            assert wire.size_of(data[:16]) == len(data)
            message = wire.decode(data, [])
            assert (message.path, message.interface, message.member) == ("/p", "i.f", "Member")
            assert message.body == ({"x": ("u", 1)}, ["y"])

    @pytest.fixture
    def bus(self, tmp_path, monkeypatch):
        """The other end of a connection, after a handshake that accepts every client."""
        ours, theirs = socket.socketpair()
        monkeypatch.setattr(connection, "_connected", lambda *_: ours)
        monkeypatch.setattr(connection.Connection, "call_bus", lambda self, method, *arguments: (":1.1",))
        yield theirs
        theirs.close()

    def test_an_answer_that_is_too_long_is_not_taken(self, bus):
        with connection.Connection() as opened:
            bus.sendall(struct.pack("<cBBBIII", b"l", 2, 0, 1, 1 << 30, 1, 0))
            with pytest.raises(genv.ServiceUnavailable, match="invalid message of"):
                opened.next_signal(5)

    def test_what_is_no_message_ends_the_connection(self, bus):
        with connection.Connection() as opened:
            bus.sendall(b"l" + b"\xff" * 15 + b"x" * 100)
            with pytest.raises(genv.ServiceUnavailable):
                opened.next_signal(5)

    def test_a_message_may_come_in_parts_and_time_outs(self, bus):
        from jeepney import DBusAddress, new_signal

        data = new_signal(DBusAddress("/p", interface="i.f"), "Told", "s", ("x" * 1000,)).serialise(serial=1)
        with connection.Connection() as opened:
            for begin in range(0, len(data), 100):
                assert opened.next_signal(0) is None
                bus.sendall(data[begin:begin + 100])
            assert opened.next_signal(5).body == ("x" * 1000,)

    def test_descriptors_that_nobody_asked_for_are_closed(self, bus):
        from jeepney import DBusAddress, new_signal
        from jeepney.low_level import HeaderFields

        reading, writing = os.pipe()
        message = new_signal(DBusAddress("/p", interface="i.f"), "Told")
        message.header.fields[HeaderFields.unix_fds] = 1
        with connection.Connection() as opened:
            socket.send_fds(bus, [message.serialise(serial=1)], [writing])
            os.close(writing)
            assert opened.next_signal(5).member == "Told"
            os.set_blocking(reading, False)
            assert os.read(reading, 1) == b""
        os.close(reading)


class TestFailureOfTheService:
    SERVING = "Serving 2 devices"

    @pytest.mark.parametrize("result, code, status, text, restarts, reason", [
        ("exit-code", os.CLD_EXITED, 78, "genvd.conf:3: unknown setting", 0, "genvd.conf:3: unknown setting"),
        ("exit-code", os.CLD_EXITED, 1, "", 0, "exit-code, status 1"),
        ("signal", os.CLD_KILLED, 9, SERVING, 1, "killed by SIGKILL, after 1 restart"),
        ("core-dump", os.CLD_DUMPED, 11, SERVING, 19, "killed by SIGSEGV, after 19 restarts"),
        ("watchdog", os.CLD_DUMPED, 6, SERVING, 0, "killed by SIGABRT because it hung"),
        ("signal", os.CLD_KILLED, 200, SERVING, 0, "killed by signal 200"),
        ("start-limit-hit", os.CLD_EXITED, 0, SERVING, 0, "start-limit-hit, status 0"),
    ])
    def test_a_status_text_is_the_reason_only_of_an_exit(self, result, code, status, text, restarts, reason):
        assert starting.reason_of(result, code, status, text, restarts) == reason
