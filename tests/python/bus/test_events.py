# SPDX-License-Identifier: LGPL-2.1-or-later
"""genv.events(): the events, the senders that are trusted, and the end of the iteration."""

import os
import signal

LISTEN = """
    with genv.events() as events:
        say("listening")
        for event in events:
            fields = {key: value for key, value in vars(event).items() if key not in ("time", "details")}
            say(type(event).__name__, *(f"{key}={value}" for key, value in sorted(fields.items())))
"""


class TestEvents:
    def test_each_is_told_with_its_type(self, world):
        carol = world.program("carol", LISTEN)
        carol.line()
        world.run("alice", """
            with genv.sdk.activate(eid="a", config=genv.Env.Config(gpus=1)):
                genv.sdk.detach()
                genv.sdk.attach(index=2, allow_over_subscription=True)
        """)
        told = [carol.line() for _ in range(6)]
        assert told == ["EnvironmentAdded eid=a", "Attached eid=a index=0", "Detached eid=a index=0 reason=user",
                        "Attached eid=a index=2", "Detached eid=a index=2 reason=user", "EnvironmentRemoved eid=a"]

    def test_notices_and_the_queue_are_told(self, world):
        listener = world.program("alice", """
            with genv.events(timeout=120) as events:
                say("listening")
                for event in events:
                    if isinstance(event, genv.Notice) and event.kind == "over-subscribed":
                        say(event.uid, event.eid, event.details["by"], event.details["device"])
                    if isinstance(event, genv.QueueChanged):
                        say("queue")
                        break
        """)
        listener.line()
        alice = world.hold("alice", consents=True)
        bob = world.hold("bob", "index=0, allow_over_subscription=True")
        assert listener.line() == f"1001 {alice.eid} {bob.eid} 0"
        world.run("carol", """
            with genv.sdk.activate():
                refused(genv.sdk.attach, gpus=1, wait=True, timeout=1)
        """)
        assert listener.expect_success() == ["queue"]

    def test_a_restart_is_told_and_survived(self, world):
        carol = world.program("carol", LISTEN)
        carol.line()
        world.restart(signal.SIGKILL)
        world.run("alice", "with genv.sdk.activate(eid='a'): pass")
        assert [carol.line() for _ in range(4)] == [
            "ServiceEnded", "ServiceStarted", "EnvironmentAdded eid=a", "EnvironmentRemoved eid=a"]

    def test_it_can_begin_before_the_service(self, world):
        world.stop()
        carol = world.program("carol", LISTEN)
        carol.line()
        world.start()
        assert carol.line() == "ServiceStarted"

    def test_only_the_service_is_believed(self, world):
        carol = world.program("carol", """
            from genv.listening import Events
            with genv.events(timeout=120) as events:
                say(events._connection.unique_name)
                for event in events:
                    say(type(event).__name__, event.eid)
                    break
        """)
        name = carol.line()
        forge = """
            from genv import wire
            import socket
            from genv.connection import Connection
            from jeepney import DBusAddress, new_signal
            from jeepney.low_level import HeaderFields
            with Connection() as connection:
                for path, interface, member, signature, body in (
                    ("/dev/genv/Manager", "dev.genv.Manager", "EnvironmentRemoved", "so", ("forged", "/x")),
                    ("/org/freedesktop/DBus", "org.freedesktop.DBus", "NameOwnerChanged", "sss",
                     ("dev.genv.Manager", "", connection.unique_name)),
                    ("/dev/genv/Manager", "dev.genv.Manager", "EnvironmentRemoved", "so", ("forged", "/x")),
                ):
                    signal = new_signal(DBusAddress(path, interface=interface), member, signature, body)
                    signal.header.fields[HeaderFields.destination] = %r
                    connection._serial += 1
                    connection._socket.sendall(signal.serialise(serial=connection._serial))
                connection.add_match("type='signal'")  # its answer: everything before has been passed on
        """ % name
        world.run("bob", forge)
        world.run("root", forge)
        world.run("alice", "with genv.sdk.activate(eid='real'): pass")
        assert carol.expect_success() == ["EnvironmentAdded real"]

    def test_it_ends_by_time_by_closing_and_by_control_c(self, world):
        carol = world.program("carol", """
            say(list(genv.events(timeout=0.05)))
            events = genv.events()
            say(events.next(timeout=0))
            closer = threading.Thread(target=lambda: (sys.stdin.readline(), events.close()))
            closer.start()
            say("iterating")
            say(list(events))
            closer.join()
            say(events.next(), len(os.listdir("/proc/self/fd")) < 8)
            try:
                with genv.events() as events:
                    say("again")
                    for event in events:
                        pass
            except KeyboardInterrupt:
                say("interrupted")
        """)
        assert [carol.line() for _ in range(3)] == ["[]", "None", "iterating"]
        carol.tell()
        assert [carol.line() for _ in range(3)] == ["[]", "None True", "again"]
        carol.interrupt()
        assert carol.expect_success() == ["interrupted"]

    def test_a_forked_child_hears_nothing_of_its_parents(self, world):
        assert world.run("carol", """
            with genv.events() as events:
                child = os.fork()
                if child == 0:
                    say(refused(events.next, 0))
                    events.close()
                    os._exit(0)
                os.waitpid(child, 0)
                with genv.sdk.activate(eid="after"):
                    say(events.next(timeout=120).eid)
        """) == ["Error: cannot receive events in a forked process", "after"]

    def test_the_address_of_the_bus_is_the_systems(self, world):
        assert os.environ["DBUS_SYSTEM_BUS_ADDRESS"]
        (line,) = world.run("alice", "say(refused(genv.events))", DBUS_SYSTEM_BUS_ADDRESS="unix:path=/nowhere")
        assert line.startswith("ServiceUnavailable: ")
