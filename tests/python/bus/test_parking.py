# SPDX-License-Identifier: LGPL-2.1-or-later
"""genv.park() and genv.resume(), with the real genv-park and programs that use a stand-in of CUDA."""

import subprocess
import textwrap

import pytest
from conftest import BUS_FOLDER, GENVD, World, until

from cuda_machine import MEBIBYTE, CudaMachine

# A program in an environment with a GPU, and its child that uses the GPU. The child ends with status 0 if its memory is
# what it was.
COMPUTING = '''
import subprocess
def compute(*options):
    global child
    child = subprocess.Popen([{program!r}, *options], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline().startswith("ready")
def ends_well():
    child.send_signal(signal.SIGUSR1)
    assert child.wait() == 0, child.stdout.read()
    child.stdout.close()
'''


class ParkingWorld(World):
    """A service that can park."""

    def __init__(self):
        super().__init__()
        self.machine = CudaMachine(BUS_FOLDER)
        self.computations = []

    def start(self, **variables):
        self.service = self.machine.start_service(GENVD)

    def computing(self, user, code, **variables):
        """Starts a program with the functions above in an environment with GPU 0."""
        body = textwrap.indent(COMPUTING.format(program=self.machine.program) + textwrap.dedent(code), "    ")
        program = self.program(user, "with genv.sdk.activate(config=genv.Env.Config(gpus=1)) as eid:\n" + body,
                               **self.machine.variables, **variables)
        self.computations.append(program)
        return program

    def allow(self, setting):
        """Adds a line to the section Parking of genvd.conf."""
        with open(self.machine.conf, "a", encoding="ascii") as conf:
            conf.write(f"[Parking]\n{setting}\n")
        subprocess.run(["busctl", "call", "dev.genv.Manager", "/dev/genv/Manager", "dev.genv.Manager", "Reload"],
                       check=True)

    def close(self):
        try:
            for program in self.computations:  # their children also end with them
                subprocess.run(["pkill", "-KILL", "-P", str(program.process.pid)], check=False)
            super().close()
        finally:
            self.machine.close()


@pytest.fixture
def world():
    created = ParkingWorld()
    try:
        created.start()
        yield created
    finally:
        created.close()


class TestParking:
    def test_a_program_parks_and_resumes_its_own_environment(self, world):
        lines = world.computing("alice", f"""
            compute()
            say(genv.parking() == genv.Parking(), variable("CUDA_VISIBLE_DEVICES"))
            parked = genv.park()
            say(parked.state, parked.reason, [device.index for device in parked.devices],
                parked.devices[0].memory >= {64 * MEBIBYTE}, parked.memory >= {64 * MEBIBYTE}, parked.since is not None)
            say(parked == genv.parking(eid), genv.sdk.attached(), variable("CUDA_VISIBLE_DEVICES"))
            say(genv.resume(), genv.parking() == genv.Parking(), variable("CUDA_VISIBLE_DEVICES"))
            ends_well()
        """).expect_success()
        assert lines == ["True 0", "parked user [0] True True True", "True [] -1", "[0] True 0"]

    def test_each_refusal_has_its_own_type(self, world):
        world.computing("alice", """
            say(refused(genv.resume))
            compute("--managed")
            say(refused(genv.park), genv.parking().state, genv.parking().problem is not None)
            say(refused(genv.park, "no such"), refused(genv.park, "nobody's"))
            ends_well()
            genv.sdk.detach()
            say(refused(genv.park))
        """)
        refusals = [line.split(":")[0] for line in world.computations[0].expect_success()]
        assert refusals == ["NotParked", "CannotPark", "InvalidArgs", "NotAttached"]
        world.allow("MaxMemory=1M")
        assert world.computing("alice", """
            compute()
            say(refused(genv.park))
            ends_well()
        """).expect_success()[0].startswith("NoHostMemory: ")
        assert world.run("alice", "say(refused(genv.park))")[0].startswith("NotActive: ")

    def test_it_waits_in_the_queue_for_its_gpus(self, world):
        alice = world.computing("alice", """
            compute()
            with genv.events() as events:
                genv.park()
                say(eid)
                sys.stdin.readline()
                say(refused(genv.resume).partition(":")[0], refused(genv.resume, wait=True, timeout=1).partition(":")[0])
                say(genv.resume(wait=True))
                seen = [event for event in iter(lambda: events.next(0), None)]
            ends_well()
            say(genv.EnvironmentParked(eid, "user") in seen, genv.Detached(eid, 0, "parked") in seen,
                genv.EnvironmentResumed(eid) in seen)
        """)
        eid = alice.line()
        bob = world.hold("bob", "gpus=2")
        alice.tell()
        assert alice.line() == "DeviceUnavailable Timeout"
        until(lambda: world.queue() == [eid], "the wait")
        bob.expect_success()
        assert alice.expect_success() == ["[0]", "True True True"]

    def test_ctrl_c_leaves_the_queue(self, world):
        alice = world.computing("alice", """
            compute()
            genv.park()
            say(eid)
            sys.stdin.readline()
            try:
                genv.resume(wait=True)
            except KeyboardInterrupt:
                say(genv.parking().state)
            sys.stdin.readline()
            say(genv.resume())
            ends_well()
        """)
        eid = alice.line()
        bob = world.hold("bob", "gpus=2")
        alice.tell()
        until(lambda: world.queue() == [eid], "the wait")
        alice.interrupt()
        assert alice.line() == "parked"
        until(lambda: world.queue() == [], "the end of the wait")
        bob.expect_success()
        alice.tell()
        assert alice.expect_success() == ["[0]"]
