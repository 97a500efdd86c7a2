# SPDX-License-Identifier: LGPL-2.1-or-later
"""Programs that were written for genv 1 run unchanged."""


class TestPrograms:
    def test_activate_configure_attach(self, world):
        assert world.run("alice", """
            say(genv.sdk.active(), genv.sdk.eid())
            with genv.sdk.activate():
                say(genv.sdk.active(), genv.sdk.eid() == str(os.getpid()), variable("CUDA_VISIBLE_DEVICES"))
                genv.sdk.configure(genv.Env.Config(name="training", gpus=1))
                genv.sdk.attach()
                say(genv.sdk.attached(), variable("CUDA_VISIBLE_DEVICES"))
                say(genv.sdk.configuration())
            say(genv.sdk.active(), variable("CUDA_VISIBLE_DEVICES"))
        """) == ["False None", "True True -1", "[0] 0", "Env.Config(name='training', gpu_memory=None, gpus=1)", "False None"]
        assert world.holders() == {}

    def test_activate_with_a_configuration_attaches(self, world):
        assert world.run("alice", """
            with genv.sdk.activate(config=genv.Env.Config(name="two", gpus=2, gpu_memory="4g")):
                say(genv.sdk.attached(), [a.gpu_memory for d in genv.snapshot().devices for a in d.attachments])
        """) == ["[0, 1] ['4g', '4g']"]

    def test_activate_as_decorator(self, world):
        assert world.run("alice", """
            @genv.sdk.activate(config=genv.Env.Config(gpus=1))
            def train(steps):
                '''Trains.'''
                say(genv.sdk.active(), variable("CUDA_VISIBLE_DEVICES"), steps)
                return steps + 1
            say(train(1), train(steps=2), train.__name__, train.__doc__, genv.sdk.active())
        """) == ["True 0 1", "True 0 2", "2 3 train Trains. False"]

    def test_attach_and_detach(self, world):
        assert world.run("alice", """
            with genv.sdk.activate():
                genv.sdk.attach(index=1)
                say(genv.sdk.attached(), variable("CUDA_VISIBLE_DEVICES"))
                genv.sdk.attach(gpus=3)
                say(genv.sdk.attached(), variable("CUDA_VISIBLE_DEVICES"))
                genv.sdk.detach(1)
                say(genv.sdk.attached(), variable("CUDA_VISIBLE_DEVICES"))
                genv.sdk.detach(index=0)
                say(genv.sdk.attached(), variable("CUDA_VISIBLE_DEVICES"))
                genv.sdk.detach()
                say(genv.sdk.attached(), variable("CUDA_VISIBLE_DEVICES"))
        """) == ["[1] 1", "[0, 1, 2] 0,1,2", "[0, 2] 0,2", "[2] 2", "[] -1"]

    def test_attach_never_detaches_a_surplus(self, world):
        assert world.run("alice", """
            with genv.sdk.activate():
                genv.sdk.attach(gpus=3)
                say(genv.sdk.attach(gpus=1), genv.sdk.attached())
                genv.sdk.configure(genv.Env.Config(gpus=2))
                say(genv.sdk.attach(), genv.sdk.attached())
                say(genv.sdk.attach(gpus=1, wait=True), genv.sdk.attached())
        """) == ["[0, 1, 2] [0, 1, 2]"] * 3

    def test_attach_with_over_subscription(self, world):
        world.hold("bob", consents=True)
        assert world.run("alice", """
            with genv.sdk.activate():
                try:
                    genv.sdk.attach(gpus=1)
                except RuntimeError as error:
                    say(type(error).__name__, str(error).partition(" (")[0])
                genv.sdk.attach(gpus=1, allow_over_subscription=True)
                say(genv.sdk.attached())
        """) == ["DeviceUnavailable No available devices: bob holds GPUs 0-3", "[0]"]

    def test_lock(self, world):
        assert world.run("alice", """
            with genv.sdk.lock():
                say("outside of an environment it does nothing")
            with genv.sdk.activate():
                with genv.sdk.lock():
                    say("nor without devices")
                genv.sdk.attach(gpus=1)
                with genv.sdk.lock():
                    say("locked")
        """) == ["outside of an environment it does nothing", "nor without devices", "locked"]

    def test_outside_of_an_environment(self, world):
        assert world.run("alice", """
            say(genv.sdk.active(), genv.sdk.eid(), genv.sdk.home())
            for function in (lambda: genv.sdk.configure(genv.Env.Config()), genv.sdk.configuration,
                             genv.sdk.refresh_configuration, genv.sdk.load_configuration, genv.sdk.save_configuration,
                             genv.sdk.attach, genv.sdk.attached, genv.sdk.detach, genv.sdk.refresh_attached):
                try:
                    function()
                except RuntimeError as error:
                    say(error)
        """) == ["False None None"] + ["Not running in an active environment"] * 9

    def test_activating_twice(self, world):
        assert world.run("alice", """
            with genv.sdk.activate() as first:
                try:
                    with genv.sdk.activate():
                        pass
                except RuntimeError as error:
                    say(error)
                say(genv.sdk.eid() == first)
        """) == ["Already running in an active environment", "True"]

    def test_joining_by_id(self, world):
        first = world.program("alice", """
            with genv.sdk.activate(eid="shared", config=genv.Env.Config(name="both", gpus=1)):
                say(genv.sdk.eid())
                sys.stdin.readline()
            say("left")
            sys.stdin.read()
        """)
        assert first.line() == "shared"
        second = world.program("alice", """
            with genv.sdk.activate(eid="shared"):
                say(genv.sdk.attached(), variable("GENV_ENVIRONMENT_NAME"), variable("GENV_GPUS"))
                sys.stdin.read()
        """)
        assert second.line() == "[0] both 1"
        first.tell()
        assert first.line() == "left"
        assert world.holders() == {0: ["shared"]}
        second.expect_success()
        assert world.holders() == {}

    def test_saving_and_loading(self, world):
        assert world.run("alice", """
            with genv.sdk.activate():
                try:
                    genv.sdk.save_configuration()
                except RuntimeError as error:
                    say(str(error).partition(";")[0])
                os.mkdir(".genv")
                say(str(genv.sdk.home()) == os.path.join(os.environ["HOME"], ".genv"))
                genv.sdk.configure(genv.Env.Config(name="saved", gpu_memory="4000m", gpus=2))
                genv.sdk.save_configuration()
                say([read(".genv/" + name) for name in sorted(os.listdir(".genv"))])
                genv.sdk.configure(genv.Env.Config())
                say(genv.sdk.configuration())
                genv.sdk.load_configuration()
                say(genv.sdk.configuration(), variable("GENV_GPU_MEMORY"))
        """) == ["There is no .genv folder here, nor in your home folder", "True", "['4g', '2', 'saved']",
                 "Env.Config(name=None, gpu_memory=None, gpus=None)",
                 "Env.Config(name='saved', gpu_memory='4g', gpus=2) 4g"]
        assert world.ctl("alice", "home").strip() == world.home("alice") + "/.genv"

    def test_loading_sets_what_is_saved_and_clears_nothing(self, world):
        assert world.run("alice", """
            import pathlib
            os.mkdir(".genv")
            with genv.sdk.activate(config=genv.Env.Config(name="mine", gpu_memory="1g", gpus=0)):
                say(genv.sdk.load_configuration(), variable("GENV_ENVIRONMENT_NAME"))
                pathlib.Path(".genv/gpus").write_text("2")
                say(genv.sdk.load_configuration(), genv.sdk.configuration(), variable("GENV_GPUS"))
        """) == ["Env.Config(name='mine', gpu_memory='1g', gpus=None) mine",
                 "Env.Config(name='mine', gpu_memory='1g', gpus=2) " * 2 + "2"]

    def test_what_functions_return(self, world):
        assert world.run("alice", """
            import pathlib
            os.mkdir(".genv")
            say(isinstance(genv.sdk.home(), pathlib.Path), (genv.sdk.home() / "gpus").name)
            with genv.sdk.activate(config=genv.Env.Config(name="n", gpus=1)):
                say(genv.sdk.refresh_attached())
                say(genv.sdk.refresh_configuration())
                say(genv.sdk.load_configuration())
            with genv.sdk.activate():
                say(genv.sdk.attach(), genv.sdk.refresh_attached())
                genv.sdk.attach(index=2)
                say(genv.sdk.attach(), variable("CUDA_VISIBLE_DEVICES"))
        """) == ["True gpus", "[0]", "Env.Config(name='n', gpu_memory=None, gpus=1)",
                 "Env.Config(name='n', gpu_memory=None, gpus=1)", "[] []", "[2] 2"]

    def test_modules_by_their_names_of_genv_1(self, world):
        assert world.run("alice", """
            from genv.sdk.env import activate, active, configuration, configure, eid, home
            from genv.sdk.env import load_configuration, refresh_configuration, save_configuration
            from genv.sdk.devices import attach, attached, detach, lock, refresh_attached
            say(activate is genv.sdk.activate, attach is genv.sdk.attach)
            with genv.sdk.env.activate(eid="it"):
                say(genv.sdk.devices.attach(gpus=2), genv.sdk.env.eid())
        """) == ["True True", "[0, 1] it"]

    def test_the_lock_of_a_device(self, world):
        assert world.run("alice", """
            import genv.core.devices
            from genv import contract
            from genv.connection import Connection
            def locked_by(index):
                with Connection() as connection:
                    (values,) = connection.call(f"{contract.DEVICE_PREFIX}/{index}", contract.GET_ALL, "dev.genv.Device")
                return values["LockedBy"][1]
            with genv.sdk.activate(eid="it", config=genv.Env.Config(gpus=2)):
                for index in genv.sdk.attached():
                    with genv.core.devices.lock(index):
                        with genv.core.devices.lock(index):
                            say(index, locked_by(index))
                with genv.core.devices.lock():
                    say(locked_by(0), locked_by(1))
                say(locked_by(0) == "")
                say(refused(genv.core.devices.lock(3).__enter__))
            say(refused(genv.core.devices.lock(0).__enter__))
        """) == ["0 it", "1 it", "it it", "True", "NotAttached: environment it is not attached to device 3",
                 "NotActive: Not running in an active environment"]

    def test_variables(self, world):
        assert world.run("alice", """
            names = ("GENV_PYTHON", "GENV_ENVIRONMENT_ID", "GENV_ENVIRONMENT_NAME", "GENV_GPU_MEMORY", "GENV_GPUS",
                     "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER")
            before = dict(os.environ)
            try:
                with genv.sdk.activate(eid="it", config=genv.Env.Config(name="n", gpu_memory="1gi", gpus=2)):
                    say(*(variable(name) for name in names))
                    began, devices = read(variable("GENV_STATUS_FILE")).splitlines()
                    say(devices, began.split()[1] == variable("GENV_ENVIRONMENT_CREATED"))
                    genv.sdk.configure(genv.Env.Config(name="other"))
                    say(*(variable(name) for name in names))
                    os.environ["CUDA_VISIBLE_DEVICES"] = "mine"
                    1 / 0
            except ZeroDivisionError:
                say(os.environ == before, variable("CUDA_VISIBLE_DEVICES"))
        """, CUDA_VISIBLE_DEVICES="7", GENV_GPUS="9") == [
            "1 it n 1gi 2 0,1 PCI_BUS_ID", "0,1 True", "1 it other None None 0,1 PCI_BUS_ID", "True 7"]

    def test_entities_and_their_json(self, world):
        world.hold("bob", "gpus=1")
        assert world.run("alice", """
            with genv.sdk.activate(eid="mine", config=genv.Env.Config(name="n", gpus=1)):
                text = json.dumps(genv.snapshot(), cls=genv.JSONEncoder)
                snapshot = json.loads(text, cls=genv.JSONDecoder)
                say(snapshot == genv.snapshot())
                env = snapshot.envs["mine"]
                say(env.username, env.uid, env.config.name, env.pids == [os.getpid()], env.kernel_ids)
                say(snapshot.devices.filter(eid="mine").indices, snapshot.envs.filter(username="bob").usernames)
        """) == ["True", "alice 1001 n True []", "[1] {'bob'}"]
