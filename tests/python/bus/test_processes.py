# SPDX-License-Identifier: LGPL-2.1-or-later
"""Threads and processes: each operation has a connection of its own, and a forked child keeps none."""

import contextlib
import os
import signal

from waiting import until


def sockets_of(pid):
    folder = f"/proc/{pid}/fd"
    sockets = []
    for name in os.listdir(folder):
        with contextlib.suppress(FileNotFoundError):  # closed after the listing
            if os.readlink(f"{folder}/{name}").startswith("socket:"):
                sockets.append(name)
    return sockets


class TestThreads:
    def test_they_share_one_environment(self, world):
        assert world.run("alice", """
            from concurrent.futures import ThreadPoolExecutor
            def work(number):
                genv.sdk.attach(gpus=1 + number % 3)
                genv.snapshot()
                genv.sdk.configure(genv.Env.Config(name=f"n{number}", gpus=1))
                return genv.sdk.configuration().gpus
            with genv.sdk.activate():
                with ThreadPoolExecutor(16) as pool:
                    results = set(pool.map(work, range(48)))
                first, middle, last = genv.sdk.attached()
                say(results, variable("CUDA_VISIBLE_DEVICES") == f"{first},{middle},{last}")
                with ThreadPoolExecutor(4) as pool:
                    list(pool.map(genv.sdk.detach, [first, last]))
                say(variable("CUDA_VISIBLE_DEVICES") == str(middle), len(os.listdir("/proc/self/fd")) < 10)
        """) == ["{1} True", "True True"]

    def test_more_than_the_service_looks_at_at_once_have_their_turn(self, world):
        assert world.run("alice", """
            everybody = threading.Barrier(24)
            turns = []
            def work():
                everybody.wait()
                with genv.sdk.lock():
                    turns.append(genv.sdk.attached())
            with genv.sdk.activate(config=genv.Env.Config(gpus=1)):
                threads = [threading.Thread(target=work) for _ in range(24)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
            say(len(turns))
        """) == ["24"]

    def test_a_cap_of_the_service_is_an_exception(self, world):
        assert world.run("alice", """
            from genv import service
            service._CAPS_TIMEOUT = 0.1
            children = []
            reading, writing = os.pipe()
            for _ in range(256):
                child = os.fork()
                if child == 0:
                    with genv.sdk.activate():
                        os.write(writing, b"x")
                        signal.pause()
                    os._exit(0)
                children.append(child)
                os.read(reading, 1)
            say(refused(genv.sdk.activate().__enter__).partition(":")[0])
            for child in children:
                os.kill(child, signal.SIGKILL)
        """) == ["LimitsExceeded"]

    def test_only_one_of_them_activates(self, world):
        assert world.run("alice", """
            results = []
            ready, done = threading.Barrier(4), threading.Barrier(4)
            def work():
                ready.wait()
                try:
                    with genv.sdk.activate():
                        results.append("active")
                        done.wait()
                except genv.AlreadyActive:
                    results.append("refused")
                    done.wait()
            threads = [threading.Thread(target=work) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            say(sorted(results), genv.snapshot().envs.eids)
        """) == ["['active', 'refused', 'refused', 'refused'] []"]


class TestChildren:
    CHILDREN = """
        import multiprocessing
        def child(queue):
            queue.put((genv.sdk.active(), genv.sdk.attached(), variable("CUDA_VISIBLE_DEVICES"),
                       refused(genv.sdk.activate().__enter__)))
            genv.sdk.attach(gpus=2)
            queue.put(variable("CUDA_VISIBLE_DEVICES"))
        with genv.sdk.activate(config=genv.Env.Config(gpus=1)):
            context = multiprocessing.get_context("{method}")
            queue = context.Queue()
            process = context.Process(target=child, args=(queue,))
            process.start()
            say(*queue.get(), queue.get())
            process.join()
            say(process.exitcode, genv.sdk.attached(), variable("CUDA_VISIBLE_DEVICES"))
            genv.sdk.refresh_attached()
            say(variable("CUDA_VISIBLE_DEVICES"))
    """
    EXPECTED = ["True [0] 0 AlreadyActive: Already running in an active environment 0,1", "0 [0, 1] 0", "0,1"]

    def test_a_forked_one_is_in_its_parents_environment(self, world):
        assert world.run("alice", self.CHILDREN.format(method="fork")) == self.EXPECTED

    def test_a_program_that_is_run_is_in_it(self, world):
        assert world.run("alice", """
            import subprocess
            with genv.sdk.activate(config=genv.Env.Config(gpus=1)):
                subprocess.run([sys.executable, "-B", "-c", "import genv; print(genv.sdk.attached())"], check=True)
        """) == ["[0]"]

    def test_a_child_that_leaves_the_block_does_not_end_its_parents_environment(self, world):
        assert world.run("alice", """
            with genv.sdk.activate(eid="parents", config=genv.Env.Config(gpus=1)):
                child = os.fork()
                if child:
                    os.waitpid(child, 0)
                    say("parent", genv.sdk.attached())
            if child == 0:
                say("child", genv.sdk.active(), variable("CUDA_VISIBLE_DEVICES"), genv.snapshot().envs.eids)
                os._exit(0)
        """) == ["child False None ['parents']", "parent [0]"]

    def test_a_child_does_not_keep_a_wait_of_its_parent_alive(self, world):
        alice = world.hold("alice")
        bob = world.program("bob", """
            def fork():
                sys.stdin.readline()
                child = os.fork()
                if child == 0:
                    signal.pause()
                    os._exit(0)
                say(child)
            threading.Thread(target=fork, daemon=True).start()
            with genv.sdk.activate(eid="bobs"):
                genv.sdk.attach(gpus=1, wait=True)
        """)
        until(world.queue, "bob")
        bob.tell()
        child = int(bob.line())
        bob.process.kill()
        bob.process.wait()
        # His environment ends with his process; his call ends with his connection.
        try:
            until(lambda: not sockets_of(child), "the end of the connection")
        finally:
            os.kill(child, signal.SIGKILL)
        until(lambda: not world.queue(), "the end of the wait")
        alice.expect_success()

    def test_a_child_forked_while_its_parent_activates_may_activate(self, world):
        alice = world.hold("alice")
        bob = world.program("bob", """
            def fork():
                sys.stdin.readline()
                # Python 3.12 and later warns of any fork beside another thread.
                with warnings.catch_warnings(action="ignore"):
                    child = os.fork()
                if child == 0:
                    with genv.sdk.activate(eid="childs"):
                        say(genv.snapshot().envs["childs"].pids == [os.getpid()])
                    os._exit(0)
                os.waitpid(child, 0)
            threading.Thread(target=fork, daemon=True).start()
            with genv.sdk.activate(config=genv.Env.Config(gpus=1), wait=True):
                say(genv.sdk.attached())
        """)
        until(world.queue, "bob")
        bob.tell()
        assert bob.line() == "True"
        alice.expect_success()
        assert bob.expect_success() == ["[0]"]

    def test_a_childs_exception_comes_through(self, world):
        assert world.run("alice", """
            import pickle
            error = pickle.loads(pickle.dumps(genv.errors.error_for("dev.genv.Error.NotAttached", "a sentence")))
            say(type(error).__name__, error, error.name)
            error = pickle.loads(pickle.dumps(genv.errors.error_for("org.example.Other", "another")))
            say(type(error).__name__, error, error.name)
        """) == ["NotAttached a sentence dev.genv.Error.NotAttached", "Error another org.example.Other"]
