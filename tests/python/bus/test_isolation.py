# SPDX-License-Identifier: LGPL-2.1-or-later
"""The package while isolation is active, with the kernel's real gate."""

import pytest

from conftest import GENVD, World

from isolated import Gate, NoGate, await_isolation, may_open, node

UUIDS = [f"GPU-67656e76-0000-4000-8000-{index:012x}" for index in range(4)]


@pytest.fixture
def isolated_world():
    try:
        gate = Gate(GENVD, 4)
    except NoGate as reason:
        pytest.skip(f"no gate here: {reason}")
    world = World()
    try:
        gate.put_up("user")
        world.start(**gate.variables)
        await_isolation("user")
        yield world
    finally:
        world.close()
        gate.take_down()
        gate.close()


class TestIsolation:
    def test_gpus_are_named_by_uuid_and_opened_by_their_holder_alone(self, isolated_world):
        assert isolated_world.run("alice", f"""
            def openable():
                found = []
                for index, path in enumerate({[node(index) for index in range(4)]!r}):
                    try:
                        os.open(path, os.O_RDWR)
                    except PermissionError:
                        continue
                    except OSError:
                        pass
                    found.append(index)
                return found
            with genv.sdk.activate(config=genv.Env.Config(gpus=1)):
                say(variable("CUDA_VISIBLE_DEVICES"), openable())
                genv.sdk.attach(index=2)
                say(variable("CUDA_VISIBLE_DEVICES"), openable())
                genv.sdk.detach(index=0)
                say(variable("CUDA_VISIBLE_DEVICES"), openable())
                say(genv.sdk.attached(), genv.sdk.refresh_attached(), variable("CUDA_VISIBLE_DEVICES"))
                genv.sdk.detach()
                say(variable("CUDA_VISIBLE_DEVICES"), openable())
        """) == [f"{UUIDS[0]} [0]", f"{UUIDS[0]},{UUIDS[2]} [0, 2]", f"{UUIDS[2]} [2]", f"[2] [2] {UUIDS[2]}", "-1 []"]

    def test_what_is_in_force_and_what_was_refused_can_be_asked_for(self, isolated_world):
        assert not may_open("alice", 3)
        assert isolated_world.run("alice", """
            isolation = genv.isolation()
            say(isolation.mode, isolation.wanted, isolation.suspended, isolation.trouble, isolation.guarded)
            for refused in genv.refused_opens():
                say(refused.uid, refused.device, refused.node, refused.count, refused.command)
        """) == ["user user False None [0, 1, 2, 3]", "1001 3 GPU 3 1 python3"]


class TestWithoutIsolation:
    def test_nothing_is_in_force_and_nothing_refused(self, world):
        assert world.run("alice", "say(genv.isolation().mode, genv.isolation().wanted, genv.refused_opens())") == \
            ["none none []"]
