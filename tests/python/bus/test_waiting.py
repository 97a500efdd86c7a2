# SPDX-License-Identifier: LGPL-2.1-or-later
"""Waiting for devices and locks: in the order of the requests, across a restart of the service, and until Ctrl-C."""

import contextlib
import os
import select
import signal
import subprocess
import textwrap

import pytest

from waiting import until

BUS_FOLDER = os.environ["GENV_PRIVATE_BUS"]


@contextlib.contextmanager
def file_in_force(path, text, *reload):
    """Writes a file that a program reads on the call `reload` of busctl, and removes it in the end."""
    def read_again():
        subprocess.run(["busctl", "call", *reload], check=True)

    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    read_again()
    try:
        yield
    finally:
        os.remove(path)
        read_again()


def activatable(program):
    """Makes the bus run this program if a call starts the service."""
    return file_in_force(os.path.join(BUS_FOLDER, "services", "dev.genv.Manager.service"),
                         f"[D-BUS Service]\nName=dev.genv.Manager\nUser=root\nExec={program}\n",
                         "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "ReloadConfig")


def limited(user, limits):
    """Sets limits of a user."""
    return file_in_force(os.path.join(os.environ["CONFIGURATION_DIRECTORY"], "genvd.conf"), f"[User {user}]\n{limits}\n",
                         "dev.genv.Manager", "/dev/genv/Manager", "dev.genv.Manager", "Reload")


def await_queue(world, eids):
    until(lambda: world.queue() == eids, f"the queue {eids}")


WAIT_IN_AN_ENVIRONMENT = """
    with genv.sdk.activate(eid="bobs"):
        try:
            say(genv.sdk.attach(gpus=1, wait=True), variable("CUDA_VISIBLE_DEVICES"))
        except KeyboardInterrupt:
            say("interrupted", genv.sdk.attached())
        sys.stdin.read()
"""
WAIT_FOR_AN_ENVIRONMENT = """
    try:
        with genv.sdk.activate(eid="bobs", config=genv.Env.Config(gpus=1), wait=True):
            say(genv.sdk.attached(), variable("CUDA_VISIBLE_DEVICES"))
            sys.stdin.read()
    except KeyboardInterrupt:
        say("interrupted", genv.sdk.active())
        sys.stdin.read()
"""
BOTH = pytest.mark.parametrize("code", [WAIT_IN_AN_ENVIRONMENT, WAIT_FOR_AN_ENVIRONMENT], ids=["attach", "activate"])


class TestWaiting:
    def test_a_wait_is_cancelled_from_outside(self, world):
        alice = world.hold("alice")
        bob = world.program("bob", """
            with genv.sdk.activate(eid="bobs"):
                say(refused(genv.sdk.attach, gpus=1, wait=True))
        """)
        await_queue(world, ["bobs"])
        canceller = world.program("bob", """
            (wait,) = genv.queue()
            say(wait.eid, wait.uid == os.getuid(), wait.gpus, wait.since.year > 2000, wait.waits_for, wait.hold)
            genv.cancel_wait(wait.ticket)
            say(refused(genv.cancel_wait, wait.ticket).startswith("NoSuchWait: no request with ticket"))
            say(refused(genv.cancel_wait, -1).startswith("InvalidArgs: "), genv.queue())
        """)
        assert canceller.expect_success() == ["bobs True 1 True devices None", "True", "True []"]
        assert bob.line() == "DeviceUnavailable: the wait was canceled"
        alice.expect_success()

    def test_a_quota_is_waited_for(self, world):
        with limited("bob", "MaxDevicesPerUser=1"):
            first = world.hold("bob", "gpus=1")
            second = world.program("bob", """
                with genv.sdk.activate(eid="second", config=genv.Env.Config(gpus=1), wait=True):
                    say("granted")
            """)
            await_queue(world, ["second"])
            lister = world.program("bob", "(wait,) = genv.queue(); say(wait.waits_for, wait.hold)")
            assert lister.expect_success() == ["quota QuotaHold(limit='MaxDevicesPerUser', used=1, allowed=1)"]
            first.expect_success()
            assert second.expect_success() == ["granted"]

    @BOTH
    def test_devices_come_when_they_are_free(self, world, code):
        alice = world.hold("alice")
        bob = world.program("bob", code)
        await_queue(world, ["bobs"])
        alice.expect_success()
        assert bob.line() == "[0] 0"

    @pytest.mark.parametrize("code", [
        """
            with genv.sdk.activate(eid={eid!r}, config=genv.Env.Config(gpus=1), wait=True, priority={priority}):
                say("granted")
        """,
        """
            with genv.sdk.activate(eid={eid!r}):
                genv.sdk.attach(gpus=1, wait=True, priority={priority})
                say("granted")
        """,
    ], ids=["activate", "attach"])
    def test_a_priority_goes_before_ones_own(self, world, code):
        alice = world.hold("alice")
        first = world.program("bob", code.format(eid="first", priority=0))
        await_queue(world, ["first"])
        second = world.program("bob", code.format(eid="second", priority=1))
        await_queue(world, ["second", "first"])
        alice.expect_success()
        assert first.expect_success() == second.expect_success() == ["granted"]
        wrong = world.program("bob", """
            with genv.sdk.activate():
                for priority in (101, -101, 1 << 31, 1.5):
                    say(refused(genv.sdk.attach, gpus=1, wait=True, priority=priority).partition(":")[0])
        """)
        assert wrong.expect_success() == ["InvalidArgs"] * 4

    @BOTH
    @pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL], ids=["restart", "crash"])
    def test_the_wait_survives_a_restart_of_the_service(self, world, code, how):
        alice = world.hold("alice")
        bob = world.program("bob", code)
        await_queue(world, ["bobs"])
        carol = world.program("carol", code.replace("bobs", "carols"))
        await_queue(world, ["bobs", "carols"])
        world.restart(how)
        await_queue(world, ["bobs", "carols"])
        alice.expect_success()
        assert (bob.line(), carol.line()) == ("[0] 0", "[1] 1")

    @BOTH
    def test_the_wait_survives_a_restart_of_the_bus(self, world, code):
        alice = world.hold("alice")
        bob = world.program("bob", code)
        await_queue(world, ["bobs"])
        carol = world.program("carol", code.replace("bobs", "carols"))
        await_queue(world, ["bobs", "carols"])
        world.restart_bus()
        await_queue(world, ["bobs", "carols"])
        alice.expect_success()
        assert (bob.line(), carol.line()) == ("[0] 0", "[1] 1")

    @BOTH
    def test_a_stopped_service_stays_stopped(self, world, code):
        alice = world.hold("alice")
        started = os.path.join(BUS_FOLDER, "started-by-the-bus")
        with activatable(f"/bin/touch {started}"):
            bob = world.program("bob", "import genv.waiting\nasked = genv.waiting._await_service\n"
                                "def tell(*arguments):\n    say('stopped')\n    asked(*arguments)\n"
                                "genv.waiting._await_service = tell\n" + textwrap.dedent(code))
            await_queue(world, ["bobs"])
            world.stop()
            assert bob.line() == "stopped"
            world.start()
            await_queue(world, ["bobs"])
            alice.expect_success()
            assert bob.line() == "[0] 0"
        assert not os.path.exists(started), "the call has started the service"

    def test_a_timeout_bounds_the_wait_for_a_stopped_service(self, world):
        world.hold("alice")
        bob = world.program("bob", """
            try:
                genv.sdk.activate(eid="bobs", config=genv.Env.Config(gpus=1), wait=True, timeout=2).__enter__()
            except genv.Timeout:
                say("too late")
        """)
        await_queue(world, ["bobs"])
        world.stop()
        assert bob.line() == "too late"
        world.start()

    def test_control_c_ends_the_wait_and_the_environment_goes_on(self, world):
        world.hold("alice")
        bob = world.program("bob", WAIT_IN_AN_ENVIRONMENT)
        await_queue(world, ["bobs"])
        bob.interrupt()
        assert bob.line() == "interrupted []"
        await_queue(world, [])
        bob.expect_success()

    def test_control_c_while_activating_leaves_nothing(self, world):
        alice = world.hold("alice")
        bob = world.program("bob", WAIT_FOR_AN_ENVIRONMENT)
        await_queue(world, ["bobs"])
        bob.interrupt()
        assert bob.line() == "interrupted False"
        await_queue(world, [])
        until(lambda: world.ctl("alice", "envs", "query", "--query", "eid").split() == [alice.eid], "bob's end")

    def test_control_c_that_crosses_a_grant_leaves_nothing(self, world):
        assert world.run("bob", """
            from genv import contract
            from genv.connection import Connection
            reply = Connection._reply
            def interrupted(self, method, *arguments):
                answer = reply(self, method, *arguments)
                if method in (contract.ACTIVATE, contract.ATTACH):
                    os.kill(os.getpid(), signal.SIGINT)
                return answer
            Connection._reply = interrupted
            try:
                genv.sdk.activate(config=genv.Env.Config(gpus=1), wait=True).__enter__()
            except KeyboardInterrupt:
                say(genv.snapshot().envs.eids, genv.sdk.active())
            Connection._reply = reply
            with genv.sdk.activate():
                Connection._reply = interrupted
                try:
                    genv.sdk.attach(gpus=1, wait=True)
                except KeyboardInterrupt:
                    say(genv.sdk.attached(), variable("CUDA_VISIBLE_DEVICES"))
        """) == ["[] False", "[0] 0"]

    def test_control_c_while_the_service_is_away(self, world):
        world.hold("alice")
        bob = world.program("bob", WAIT_FOR_AN_ENVIRONMENT)
        await_queue(world, ["bobs"])
        world.stop()
        bob.interrupt()
        assert bob.line() == "interrupted False"

    def test_a_wait_can_be_limited(self, world):
        world.hold("alice")
        assert world.run("bob", """
            with genv.sdk.activate():
                say(refused(genv.sdk.attach, gpus=1, wait=True, timeout=0.5))
            say(refused(genv.sdk.activate(config=genv.Env.Config(gpus=1), wait=True, timeout=1).__enter__))
            say(genv.sdk.active())
        """) == ["Timeout: no device became free within 1s"] * 2 + ["False"]
        assert world.queue() == []

    def test_an_environment_that_ends_ends_its_wait(self, world):
        world.hold("alice")
        bob = world.program("bob", """
            with genv.sdk.activate(eid="bobs"):
                say(refused(genv.sdk.attach, gpus=1, wait=True).partition(":")[0])
        """)
        await_queue(world, ["bobs"])
        world.ctl("root", "envs", "deactivate", "--pid", str(bob.process.pid))
        assert bob.expect_success() == ["NoSuchEnvironment"]


class TestBetweenCalls:
    def test_a_restart_is_not_noticed(self, world):
        alice = world.program("alice", """
            with genv.sdk.activate(eid="a", config=genv.Env.Config(name="n", gpus=1)):
                say("active")
                sys.stdin.readline()
                say(genv.sdk.attached(), genv.sdk.attach(gpus=2), genv.sdk.configuration().name)
        """)
        alice.line()
        world.restart(signal.SIGKILL)
        alice.tell()
        assert alice.expect_success() == ["[0] [0, 1] n"]


class TestLocks:
    # Prints when the call for the lock has been sent. Nothing else reveals a waiting call.
    SHARE = """
        from genv import contract
        from genv.connection import Connection
        reply = Connection._reply
        def told(self, method, *arguments):
            if method == contract.LOCK:
                say("asked")
            return reply(self, method, *arguments)
        Connection._reply = told
        with genv.sdk.activate(over_subscribable=True):
            genv.sdk.attach(index=0, allow_over_subscription=True)
            say("attached")
            sys.stdin.readline()
            with genv.sdk.lock():
                say("locked")
                sys.stdin.readline()
            say("free")
            sys.stdin.read()
    """

    def two(self, world):
        programs = [world.program(user, self.SHARE) for user in ("alice", "bob")]
        for program in programs:
            assert program.line() == "attached"
        return programs

    def one_waits_for_the_other(self, world):
        alice, bob = self.two(world)
        alice.tell()
        assert (alice.line(), alice.line()) == ("asked", "locked")
        bob.tell()
        assert bob.line() == "asked"
        for _ in range(20):
            world.holders()  # the service answers in order, so it has read the earlier call
        return alice, bob

    def test_one_after_the_other(self, world):
        alice, bob = self.one_waits_for_the_other(world)
        assert not select.select([bob.process.stdout], [], [], 0)[0]
        alice.tell()
        assert (alice.line(), bob.line()) == ("free", "locked")

    def test_a_dead_holder_holds_nothing(self, world):
        alice, bob = self.one_waits_for_the_other(world)
        alice.process.kill()
        assert bob.line() == "locked"

    def test_a_lock_and_a_wait_for_one_survive_a_crash_of_the_service(self, world):
        alice, bob = self.one_waits_for_the_other(world)
        world.restart(signal.SIGKILL)
        assert bob.line() == "asked"
        alice.tell()
        assert alice.line() == "free"
        while (line := bob.line()) == "asked":
            pass  # printed once more if the service took a while to restart
        assert line == "locked"

    def test_in_a_thread_that_has_it_it_does_nothing_more(self, world):
        assert world.run("alice", """
            @genv.sdk.activate(config=genv.Env.Config(gpus=1))
            def work():
                with genv.sdk.lock():
                    with genv.sdk.lock():
                        say("twice")
                    said = []
                    def other():
                        with genv.sdk.lock():
                            said.append("in another thread")
                    thread = threading.Thread(target=other)
                    thread.start()
                    thread.join(0.2)
                    say(said)
                thread.join()
                say(said)
            work()
        """) == ["twice", "[]", "['in another thread']"]

    def test_a_forked_child_and_a_program_that_is_run_do_not_keep_it(self, world):
        assert world.run("alice", """
            import subprocess
            with genv.sdk.activate(config=genv.Env.Config(gpus=1)):
                with genv.sdk.lock():
                    reading, writing = os.pipe()
                    child = os.fork()
                    if child == 0:
                        os.close(writing)
                        os.read(reading, 1)
                        os._exit(0)
                    os.close(reading)
                    sleeper = subprocess.Popen(["sleep", "60"])
                with genv.sdk.lock():
                    say("locked again")
                os.close(writing)
                os.waitpid(child, 0)
                sleeper.kill()
                sleeper.wait()
        """) == ["locked again"]

    def test_control_c_ends_a_wait_for_a_lock(self, world):
        alice, bob = self.one_waits_for_the_other(world)
        bob.interrupt()
        status, _, err = bob.finish()
        assert status == -signal.SIGINT and "KeyboardInterrupt" in err
        assert world.holders()[0] == [str(alice.process.pid)]

