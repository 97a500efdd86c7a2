# SPDX-License-Identifier: LGPL-2.1-or-later
"""genv.sdk beyond the features of genv 1: the owner of an environment, refusals, and changes by others."""

import json
import os
import subprocess

import pytest
from conftest import AS_USER, until


class TestActivation:
    def test_the_environment_ends_with_the_process(self, world):
        alice = world.hold("alice")
        assert world.holders()[3] == [alice.eid]
        alice.process.kill()
        alice.process.wait()
        until(lambda: not world.holders(), "the free GPUs")

    def test_the_projects_folder_is_loaded(self, world):
        assert world.run("alice", """
            os.mkdir(".genv")
            for name, value in {"name": "project", "gpus": " 2 ", "gpu-memory": "4G"}.items():
                with open(".genv/" + name, "w") as file:
                    file.write(value)
            with genv.sdk.activate():
                say(genv.sdk.configuration(), genv.sdk.attached())
            with genv.sdk.activate(load=False):
                say(genv.sdk.configuration(), genv.sdk.attached())
            with genv.sdk.activate(config=genv.Env.Config(name="mine")):
                say(genv.sdk.configuration(), genv.sdk.attached())
            with genv.sdk.activate(attach=False):
                say(genv.sdk.configuration().gpus, genv.sdk.attached())
        """) == ["Env.Config(name='project', gpu_memory='4g', gpus=2) [0, 1]",
                 "Env.Config(name=None, gpu_memory=None, gpus=None) []",
                 "Env.Config(name='mine', gpu_memory=None, gpus=None) []", "2 []"]

    def test_what_only_the_projects_folder_asks_for_is_worth_a_warning(self, world):
        world.hold("bob")
        status, out, err = world.program("alice", """
            os.mkdir(".genv")
            with open(".genv/gpus", "w") as file:
                file.write("2")
            with genv.sdk.activate():
                say(genv.sdk.configuration().gpus, genv.sdk.attached())
            with open(".genv/gpus", "w") as file:
                file.write("many")
            with genv.sdk.activate():
                say(genv.sdk.configuration().gpus, genv.sdk.attached())
        """).finish()
        assert (status, out) == (0, "2 []\nNone []\n")
        assert "RuntimeWarning: The environment is active without the 2 GPUs that .genv asks for: No available" in err
        assert "gpus: invalid number of GPUs 'many'" in err

    def test_a_failed_attach_leaves_no_environment_and_no_variable(self, world):
        bob = world.hold("bob", consents=True)
        assert world.run("alice", """
            before = dict(os.environ)
            say(refused(genv.sdk.activate(config=genv.Env.Config(gpus=1)).__enter__).partition(" (")[0])
            say(os.environ == before, genv.sdk.active(), genv.snapshot().envs.usernames)
            say(refused(genv.sdk.activate(config=genv.Env.Config(gpus=5), wait=True).__enter__))
            with genv.sdk.activate(config=genv.Env.Config(gpus=1), allow_over_subscription=True):
                say(genv.sdk.attached())
        """) == ["DeviceUnavailable: No available devices: bob holds GPUs 0-3", "True False {'bob'}",
                 "NotEnoughDevices: Requested more devices (5) than total available (4)", "[0]"]
        bob.expect_success()

    def test_gpus_are_lent_and_no_longer(self, world):
        assert world.run("alice", """
            with genv.sdk.activate(config=genv.Env.Config(gpus=1)):
                say(genv.sdk.preemptible())
                for kind in (True, "end", False):
                    genv.sdk.set_preemptible(kind)
                    say(genv.sdk.preemptible())
                say(genv.sdk.attach(gpus=2, preemptible=True), genv.sdk.preemptible())
                say(genv.sdk.attach(gpus=3), genv.sdk.preemptible())
                say(refused(lambda: genv.sdk.set_preemptible("perhaps")))
            with genv.sdk.activate(config=genv.Env.Config(gpus=1), preemptible="end"):
                say(genv.sdk.preemptible())
        """) == ["no", "park", "end", "no", "[0, 1] park", "[0, 1, 2] park",
                 "InvalidArgs: invalid value 'perhaps' for preemptible: expected True, False, \"park\" or \"end\"", "end"]

    def test_holders_consent_to_sharing_and_withdraw_it(self, world):
        bob = world.program("bob", """
            with genv.sdk.activate(config=genv.Env.Config(gpus=4)):
                for allowed in (True, False):
                    say(genv.sdk.over_subscribable())
                    sys.stdin.readline()
                    genv.sdk.set_over_subscribable(allowed)
                say(genv.sdk.over_subscribable())
                sys.stdin.read()
        """)
        share = """
            with genv.sdk.activate():
                try:
                    genv.sdk.attach(index=0, allow_over_subscription=True)
                except genv.Error as error:
                    say(str(error).partition("; ")[2])
        """
        ask = ['ask bob to run "genvctl config --allow-over-subscribe", or ask an administrator']
        assert bob.line() == "False"
        assert world.run("alice", share) == ask
        bob.tell()
        assert bob.line() == "True"
        assert world.run("alice", """
            with genv.sdk.activate():
                say(genv.sdk.attach(index=0, allow_over_subscription=True))
        """) == ["[0]"]
        bob.tell()
        assert bob.line() == "False"
        assert world.run("alice", share) == ask

    def test_joining_keeps_the_configuration_and_says_so(self, world):
        alice = world.hold("alice", "gpus=2")
        status, out, err = world.program("alice", f"""
            with genv.sdk.activate(eid={alice.eid!r}, config=genv.Env.Config(name="other", gpus=1)):
                say(genv.sdk.attached(), genv.sdk.configuration().name)
            say(genv.snapshot().envs.eids == [{alice.eid!r}])
        """).finish()
        assert (status, out) == (0, "[0, 1] held\nTrue\n")
        assert "keeps its configuration" in err

    def test_a_coroutine_has_its_environment_until_it_ends(self, world):
        assert world.run("alice", """
            import asyncio
            @genv.sdk.activate(eid="async", config=genv.Env.Config(gpus=1))
            async def work():
                await asyncio.sleep(0)
                return genv.sdk.attached()
            say(asyncio.run(work()), genv.sdk.active())
            def generator():
                yield
            try:
                genv.sdk.activate()(generator)
            except TypeError as error:
                say(error)
        """) == ["[0] False", "cannot decorate a generator; use genv.sdk.activate() as a context manager in it"]

    def test_an_environment_that_ended_meanwhile_is_left_in_peace(self, world):
        alice = world.program("alice", """
            before = dict(os.environ)
            with genv.sdk.activate(eid="short", config=genv.Env.Config(gpus=1)):
                say("active")
                sys.stdin.readline()
                say(refused(genv.sdk.attached), genv.sdk.active())
                say(refused(genv.sdk.attach, gpus=1))
                with genv.sdk.lock():
                    say("it is just run")
            say(os.environ == before)
        """)
        alice.line()
        world.ctl("root", "envs", "deactivate", "--pid", str(alice.process.pid))
        alice.tell()
        gone = "NoSuchEnvironment: Not running in an active environment: environment short has ended"
        assert alice.expect_success() == [gone + " True", gone, "it is just run", "True"]

    def test_a_later_environment_under_the_same_id_is_another(self, world):
        alice = world.program("alice", """
            with genv.sdk.activate(eid="again", config=genv.Env.Config(gpus=1)):
                say("active")
                sys.stdin.readline()
                say(refused(genv.sdk.detach))
        """)
        alice.line()
        world.ctl("root", "envs", "deactivate", "--pid", str(alice.process.pid))
        other = world.program("alice", """
            with genv.sdk.activate(eid="again", config=genv.Env.Config(gpus=2)):
                say("active")
                sys.stdin.read()
        """)
        other.line()
        alice.tell()
        assert "has ended" in alice.expect_success()[0]
        assert world.holders() == {0: ["again"], 1: ["again"]}

    def test_an_id_of_one_that_has_ended_is_no_reason_not_to_begin(self, world):
        assert world.run("alice", """
            with genv.sdk.activate(config=genv.Env.Config(gpus=1)) as eid:
                say(genv.sdk.eid() == eid, genv.sdk.attached())
            say(genv.sdk.eid())
        """, GENV_ENVIRONMENT_ID="ended") == ["True [0]", "ended"]

    def test_an_answer_that_was_lost_is_no_second_environment(self, world):
        assert world.run("alice", """
            from genv import contract, errors
            from genv.connection import Connection
            reply = Connection._reply
            answers = []
            def losing(self, method, *arguments):
                answer = reply(self, method, *arguments)
                if method == contract.ACTIVATE and not answers:
                    answers.append(answer)
                    raise genv.ServiceUnavailable("it ended", errors.NO_REPLY)
                return answer
            Connection._reply = losing
            with genv.sdk.activate(config=genv.Env.Config(gpus=1)) as eid:
                say(eid == answers[0][0], genv.snapshot().envs.eids == [eid], genv.sdk.attached())
        """) == ["True True [0]"]

    def test_without_the_service_it_says_so(self, world):
        world.stop()
        (line,) = world.run("alice", "say(refused(genv.sdk.activate().__enter__))")
        assert line.startswith("ServiceUnavailable: ")
        (line,) = world.run("alice", "say(refused(genv.snapshot))", DBUS_SYSTEM_BUS_ADDRESS="unix:path=/nowhere")
        assert line.startswith("ServiceUnavailable: the system bus cannot be reached: ")

    def test_what_cannot_be_left_is_a_warning_and_the_variables_go(self, world):
        alice = world.program("alice", """
            with genv.sdk.activate():
                say("active")
                sys.stdin.readline()
            say(genv.sdk.active(), variable("CUDA_VISIBLE_DEVICES"))
        """)
        alice.line()
        world.stop()
        alice.tell()
        status, out, err = alice.finish()
        assert (status, out) == (0, "False None\n")
        assert "Cannot leave environment" in err and "which ends with this process" in err


class TestInsideAnActivatedShell:
    def test_the_sdk_works_on_the_shells_environment(self, world):
        program = ("import genv, os; genv.sdk.attach(gpus=2); print(genv.sdk.active(), genv.sdk.attached(), "
                   "os.environ['CUDA_VISIBLE_DEVICES'], genv.sdk.configuration().name, 'GENV_PYTHON' in os.environ)")
        out = world.ctl("alice", "run", "--gpus", "1", "--name", "shells", "--", "env",
                        f"PYTHONPATH={os.environ['PYTHONPATH']}", "/usr/bin/python3", "-B", "-c", program)
        assert out == "True [0, 1] 0,1 shells False\n"

    def test_an_id_that_is_none_is_no_environment(self, world):
        assert world.run("alice", "say(genv.sdk.active(), refused(genv.sdk.attached))",
                         GENV_ENVIRONMENT_ID="../../etc") == [
            "False NotActive: Not running in an active environment"]


class TestOthers:
    def test_what_the_stamp_does_not_name_is_another(self, world):
        alice = world.hold("alice", "gpus=1")
        assert world.run("alice", """
            say(refused(genv.sdk.detach))
            say(refused(genv.sdk.attach, gpus=2))
            with genv.sdk.activate(config=genv.Env.Config(gpus=1)) as eid:
                say(genv.sdk.attached(), variable("GENV_ENVIRONMENT_CREATED") != "7")
            say(variable("GENV_ENVIRONMENT_CREATED"))
        """, GENV_ENVIRONMENT_ID=alice.eid, GENV_ENVIRONMENT_CREATED="7") == [
            f"NoSuchEnvironment: Not running in an active environment: environment {alice.eid} has ended"] * 2 + [
                "[1] True", "7"]
        assert world.run("alice", "say(genv.sdk.attached())", GENV_ENVIRONMENT_ID=alice.eid) == ["[0]"]
        assert world.holders() == {0: [alice.eid]}

    def test_root_with_a_users_variables_changes_nothing_of_theirs(self, world):
        alice = world.hold("alice", "gpus=1")
        refusal = (f"NotActive: Not running in an active environment: environment {alice.eid} belongs to uid 1001, "
                   "not to uid 0")
        assert world.run("root", """
            say(refused(genv.sdk.attach, gpus=3))
            say(refused(genv.sdk.detach))
            say(refused(genv.sdk.configure, genv.Env.Config(name="roots")))
        """, GENV_ENVIRONMENT_ID=alice.eid) == [refusal] * 3
        assert world.holders() == {0: [alice.eid]}

    def test_another_users_environment_is_refused(self, world):
        alice = world.hold("alice", "gpus=1")
        refusal = (f"NotActive: Not running in an active environment: environment {alice.eid} belongs to uid 1001, "
                   "not to uid 1002")
        assert world.run("bob", """
            say(refused(genv.sdk.attach, gpus=1))
            say(refused(genv.sdk.configure, genv.Env.Config(name="his")))
            say(refused(genv.sdk.detach))
            say(refused(genv.sdk.configuration))
            with genv.sdk.lock():
                say("nothing to lock")
        """, GENV_ENVIRONMENT_ID=alice.eid) == [refusal] * 4 + ["nothing to lock"]
        (line,) = world.run("bob", f"say(refused(genv.sdk.activate(eid={alice.eid!r}).__enter__))")
        assert line == f"AlreadyExists: environment {alice.eid} exists already and belongs to alice"
        assert world.holders() == {0: [alice.eid]}

    def test_polkits_no_is_an_exception(self, world):
        alice = world.hold("alice", "gpus=1")
        assert world.run("bob", f"""
            from genv import contract, service
            from genv.connection import Connection
            with Connection() as connection:
                say(refused(service.about_environment, connection, {alice.eid!r}, contract.DETACH, []).partition(":")[0])
        """) == ["InteractiveAuthorizationRequired"]
        assert world.holders() == {0: [alice.eid]}

    def test_what_an_administrator_took_is_seen_after_a_refresh(self, world):
        alice = world.program("alice", """
            with genv.sdk.activate(eid="a", config=genv.Env.Config(gpus=2)):
                say("active")
                sys.stdin.readline()
                say(variable("CUDA_VISIBLE_DEVICES"))
                genv.sdk.refresh_attached()
                say(variable("CUDA_VISIBLE_DEVICES"), variable("GENV_ENVIRONMENT_NAME"))
                genv.sdk.refresh_configuration()
                say(variable("GENV_ENVIRONMENT_NAME"))
        """)
        alice.line()
        world.ctl("root", "devices", "detach", "--eid", "a", "--index", "0")
        world.ctl("root", "envs", "config", "--eid", "a", "name", "--name", "theirs")
        alice.tell()
        assert alice.expect_success() == ["0,1", "1 None", "theirs"]

    def test_text_that_others_chose_stays_text(self, world):
        name = 'na\'me"; $(touch /tmp/x) \\ ü%s{0}'
        alice = world.program("alice", f"""
            with genv.sdk.activate(eid="a:b@c-_.1", config=genv.Env.Config(name={name!r}, gpus=1)):
                say(json.dumps([variable("GENV_ENVIRONMENT_NAME"), genv.sdk.configuration().name]))
                sys.stdin.read()
        """)
        assert alice.line() == json.dumps([name, name])
        assert world.run("bob", """
            say(json.dumps([env.config.name for env in genv.snapshot().envs]))
        """) == [json.dumps([name])]
        assert world.run("bob", """
            for name in ("a\\nb", "\\x1b[31m", "\\0", "\\udc80", "x" * 65, ""):
                say(refused(genv.sdk.activate(config=genv.Env.Config(name=name)).__enter__).partition(":")[0])
            for eid in ("../x", "a b", "\\0", "\\udc80", 5):
                say(refused(genv.sdk.activate(eid=eid).__enter__).partition(":")[0])
        """) == ["InvalidArgs"] * 11


class TestRequests:
    def test_what_makes_no_sense_is_invalid(self, world):
        for line in world.run("alice", """
            with genv.sdk.activate():
                for arguments in (dict(model="x"), dict(gpus=-1), dict(gpus=1 << 32), dict(gpus="1"), dict(gpus=True),
                                  dict(index=0, gpus=1), dict(index=1.5), dict(gpus=1, timeout=5),
                                  dict(gpus=1, wait=True, timeout=-1), dict(gpus=1, lifetime=float("nan")),
                                  dict(uuid="x", model="y"), dict(gpus=1, lifetime=0)):
                    say(refused(genv.sdk.attach, **arguments))
                for config in (genv.Env.Config(gpu_memory="lots"), genv.Env.Config(gpu_memory=-1),
                               genv.Env.Config(gpu_memory="0"), genv.Env.Config(name=5)):
                    say(refused(genv.sdk.configure, config))
                say(refused(genv.sdk.detach, "0"))
                try:
                    genv.sdk.attach(gpus=-1)
                except ValueError:
                    say("InvalidArgs: is a ValueError, too")
        """):
            assert line.startswith("InvalidArgs: "), line

    def test_devices_can_be_named_in_every_way(self, world):
        assert world.run("alice", """
            with genv.sdk.activate():
                say(genv.sdk.attach(index=2), genv.sdk.attach(index=2))
                say(refused(genv.sdk.attach, index=9))
                say(refused(genv.sdk.detach, 3))
                say(refused(genv.sdk.attach, uuid="GPU-none"))
                say(refused(genv.sdk.attach, gpus=1, model="H100"), genv.sdk.attach(gpus=2, model="2080"))
                say(genv.sdk.attach(gpus=0))
        """) == ["[2] [2]", "NoSuchDevice: there is no device 9 on this machine, which has 0, 1, 2, 3",
                 "NotAttached: environment " + self.pid(world) + " is not attached to device 3",
                 'NoSuchDevice: there is no device with the UUID "GPU-none" on this machine',
                 'NotEnoughDevices: no GPU is of model "H100" [0, 2]',
                 "[0, 2]"]

    @staticmethod
    def pid(world):
        return str(world.programs[-1].process.pid)

    def test_memory_is_a_text_or_bytes(self, world):
        assert world.run("alice", """
            with genv.sdk.activate(config=genv.Env.Config(gpu_memory=1 << 30)):
                say(genv.sdk.configuration().gpu_memory, genv.sdk.attach(gpus=1), variable("GENV_GPU_MEMORY"))
                say(genv.snapshot().devices[0].attachments[0].gpu_memory)
        """) == ["1gi [0] 1gi", "1gi"]

    def test_a_lifetime_ends_it(self, world):
        assert world.run("alice", """
            import datetime
            with genv.events(timeout=120) as events:
                with genv.sdk.activate(eid="brief", config=genv.Env.Config(gpus=1), lifetime=1):
                    for event in events:
                        if isinstance(event, genv.EnvironmentRemoved):
                            break
                    say(refused(genv.sdk.attached).partition(":")[0])
                with genv.sdk.activate(eid="devices"):
                    genv.sdk.attach(gpus=1, lifetime=datetime.timedelta(seconds=1))
                    for event in events:
                        if isinstance(event, genv.Detached) and event.eid == "devices":
                            say(event.reason, genv.sdk.attached())
                            break
        """) == ["NoSuchEnvironment", "expired []"]

    def test_a_surplus_stays_however_the_request_comes_about(self, world):
        """Two processes of one environment request devices at once: the smaller request detaches nothing."""
        world.run("alice", """
            import multiprocessing
            def attach(count):
                genv.sdk.attach(gpus=count)
            context = multiprocessing.get_context("fork")
            for _ in range(5):
                with genv.sdk.activate():
                    children = [context.Process(target=attach, args=(count,)) for count in (3, 1, 2, 1)]
                    for child in children:
                        child.start()
                    for child in children:
                        child.join()
                    assert len(genv.sdk.attached()) == 3, genv.sdk.attached()
        """)
        assert world.run("alice", """
            from genv import contract, service
            from genv.connection import Connection
            def attach(**options):
                with Connection() as connection:
                    return service.about_environment(connection, genv.sdk.eid(), contract.ATTACH, options)[0]
            with genv.sdk.activate(config=genv.Env.Config(gpus=3)):
                say(attach(**{"count": ("u", 1)}))
                say(refused(attach, **{"index": ("u", 1), "exact": ("b", True)}))
                say(attach(**{"count": ("u", 1), "exact": ("b", True)}))
        """) == ["[0, 1, 2]", "InvalidArgs: exact can be combined with count only", "[0]"]


@pytest.mark.parametrize("address, works", [("unix:path=/nowhere;{}", True), ("tcp:host=x;{}", True), ("tcp:host=x", False)])
class TestAddresses:
    def test_each_is_tried(self, world, address, works):
        given = address.format(os.environ["DBUS_SYSTEM_BUS_ADDRESS"])
        lines = world.run("alice", "say(refused(genv.snapshot))", DBUS_SYSTEM_BUS_ADDRESS=given)
        assert (lines == ["None"]) == works


class TestWithin:
    def test_a_program_takes_of_what_another_environment_has(self, world):
        outer = world.hold("alice", "gpus=2")
        assert world.run("alice", f"""
            with genv.sdk.activate(within={outer.eid!r}, config=genv.Env.Config(gpus=1), load=False):
                say(genv.sdk.attached(), genv.sdk.parent() == {outer.eid!r}, os.environ["CUDA_VISIBLE_DEVICES"][:4])
                say(refused(genv.sdk.attach, gpus=3))
            with genv.sdk.activate(load=False):
                say(genv.sdk.parent())
            say(refused(genv.sdk.activate(within="nobodys", load=False).__enter__))
        """) == ["[0] True GPU-",
                 f"NotEnoughDevices: Requested more devices (3) than environment {outer.eid} has (2)", "None",
                 'NoSuchEnvironment: there is no environment "nobodys"']
        assert world.holders() == {0: [outer.eid], 1: [outer.eid]}


class TestUseOutside:
    def test_a_gpu_in_use_outside_genv_comes_with_a_warning(self, world):
        world.stop()
        world.start(GENV_MOCK_DEVICE_COUNT="2", GENV_MOCK_DEVICE_UNACCOUNTED_MEMORY="4gi",
                    GENV_MOCK_COMPUTE_APPS_PROCESS_NAME="sleep")
        until(lambda: json.loads(world.ctl("carol", "devices", "--json"))[0]["unaccounted_memory_bytes"], "the second sample")
        program = world.program("alice", """
            def warned(function):
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    function()
                return [str(each.message) for each in caught if each.category is RuntimeWarning]
            with genv.sdk.activate(config=genv.Env.Config(gpus=0)):
                say(warned(lambda: genv.sdk.attach(gpus=1)))
                say(warned(lambda: genv.sdk.attach(gpus=2)))
                say(warned(lambda: genv.sdk.attach(gpus=2)))
        """)
        status, out, err = program.finish()
        assert (status, err) == (0, ""), err
        assert out.splitlines() == ["[]", "['GPU 0 is attached, but it has 4 GiB in use by no process']", "[]"]

    def test_the_process_is_named(self, world):
        world.stop()
        world.start(GENV_MOCK_DEVICE_COUNT="1", GENV_MOCK_COMPUTE_APPS_PROCESS_NAME="sleep")
        bobs = subprocess.Popen([AS_USER, "bob", "sleep", "infinity"])
        try:
            program = world.program("alice", """
                while not genv.describe_processes():
                    pass
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    with genv.sdk.activate(config=genv.Env.Config(gpus=1)):
                        pass
                say(*[each.message for each in caught if each.category is RuntimeWarning])
            """)
            status, out, err = program.finish()
            assert (status, err, out) == (0, "", f"GPU 0 is attached, but process {bobs.pid} of bob still uses it\n")
        finally:
            bobs.kill()
            bobs.wait()
