# SPDX-License-Identifier: LGPL-2.1-or-later
"""Parking on the page: with the real genv-park, and a program that uses a stand-in of CUDA."""

import json
import os
import shutil
import signal
import subprocess

from bus_scenario import AS_USER, BUS_FOLDER, DEADLINE_SECONDS, programs
from machine import FILE
from page_scenario import PageTest
from waiting import until

ALLOCATIONS = os.path.join(BUS_FOLDER, "allocations")
SOCKET = os.path.join(BUS_FOLDER, "park.sock")
LIBRARIES = {"LD_LIBRARY_PATH": f"{os.environ.get('FAKE_NVML', '')}:{os.environ.get('FAKE_CUDA', '')}", "GENV_FAKE_NVML": FILE}


class Parking(PageTest):
    gpus = 2
    configuration = "[GPU]\nBackend=nvml\n[Parking]\nWithoutIsolation=yes\n"
    variables = LIBRARIES

    def setUp(self):
        shutil.rmtree(ALLOCATIONS, ignore_errors=True)
        os.mkdir(ALLOCATIONS)
        os.chmod(ALLOCATIONS, 0o1777)
        helpers = subprocess.Popen(
            ["systemd-socket-activate", "--accept", "--inetd", "-E", "LD_LIBRARY_PATH", "-E", "GENV_FAKE_NVML", "--listen", SOCKET,
             os.environ["GENV_PARK"]], env=dict(os.environ, **LIBRARIES), stderr=subprocess.DEVNULL)
        self.addCleanup(helpers.wait)
        self.addCleanup(helpers.kill)
        until(lambda: os.path.exists(SOCKET), "the socket of genv-park")
        super().setUp()

    def start_service(self, program=None):
        command = ["systemd-cat", "--identifier=genvd", program or programs["genvd"], f"--park-socket={SOCKET}"]
        self.service = subprocess.Popen(command, env=dict(os.environ, **LIBRARIES))
        subprocess.run(["gdbus", "wait", "--system", "--timeout", str(DEADLINE_SECONDS), "dev.genv.Manager"], check=True)

    def compute(self, user, environment, *options):
        """Starts a program in an environment that is there."""
        libraries = [f"{name}={value}" for name, value in LIBRARIES.items()]
        command = subprocess.Popen([AS_USER, user, "env", *libraries, programs["genvctl"], "run", "--id", environment, "--",
                                    os.environ["CUDA_PROGRAM"], *options], stdout=subprocess.PIPE, text=True)
        self.addCleanup(command.__exit__, None, None, None)
        self.addCleanup(command.kill)
        self.assertRegex(command.stdout.readline(), "^ready ")
        return command

    def start_mine(self):
        """Starts an environment on the page, and returns its id."""
        self.start(name="training", gpus="1")
        self.await_card(0, "Yours")
        return next(each["id"] for each in json.loads(self.ctl("root", "envs", "--json").out) if each["name"] == "training")

    def act(self, name):
        self.page.click(f"{name} environment training")
        self.page.click(name, "dialog")

    def test_parks_and_resumes(self):
        program = self.compute("carol", self.start_mine())
        self.page.click("Park environment training")
        self.page.await_text("GPU 0 becomes free for others", "dialog")
        self.picture("park-question")
        self.page.click("Park", "dialog")
        self.page.await_text("parked", "#environments .badge")
        self.page.await_text("in host memory since .*; it had GPU 0", "#environments")
        self.await_card(0, "Free")
        until(lambda: not self.page.elements("dialog"), "the end of the dialog")
        self.picture("parked")
        self.act("Resume")
        self.await_card(0, "Yours")
        until(lambda: not self.page.elements("#environments .badge"), "the end of the badge")
        program.send_signal(signal.SIGUSR1)  # it compares its memory, and ends
        self.assertEqual(program.wait(DEADLINE_SECONDS), 0)

    def test_says_why_a_program_cannot_be_parked(self):
        environment = self.start_mine()
        self.compute("carol", environment, "--managed")
        self.act("Park")
        self.page.await_text("managed memory", "dialog .alert")
        self.page.click("Cancel", "dialog")
        self.page.await_text("managed memory", "#environments .alert")
        self.picture("park-problem")

    def test_waits_in_the_queue_for_its_gpu(self):
        self.compute("carol", self.start_mine())
        self.act("Park")
        self.await_card(0, "Free")
        until(lambda: not self.page.elements("dialog"), "the end of the dialog")
        bobs = self.activate("bob", "--gpus 2")
        self.await_card(0, "bob")
        self.act("Resume")
        self.page.await_text("Others hold GPU 0", "dialog")
        self.page.click("Wait in the queue", "dialog")
        self.page.await_text("place 1 of the queue", "#environments")
        self.picture("parked-waiting")
        self.assertEqual(bobs.run("genv deactivate").status, 0)
        self.await_card(0, "Yours")

    def test_what_is_on_loan_and_for_whom_it_is_parked(self):
        self.start(name="training", gpus="2", preemptible="park")
        self.page.await_text("on loan", "#environments .badge")
        self.await_card(0, "on loan")
        environment = next(each["id"] for each in json.loads(self.ctl("root", "envs", "--json").out) if each["name"] == "training")
        program = self.compute("carol", environment)
        bobs = self.activate("bob", "--gpus 1")
        self.page.await_text("parked for bob", "#environments .badge")
        self.page.await_text("it goes on by itself", "#environments")
        self.page.await_text("to go on", "#queue")
        self.picture("parked-for-bob")
        self.assertEqual(bobs.run("genv deactivate").status, 0)
        self.page.await_text("on loan", "#environments .badge")
        program.send_signal(signal.SIGUSR1)  # it compares its memory, and ends
        self.assertEqual(program.wait(DEADLINE_SECONDS), 0)

    def test_what_others_have_parked(self):
        bobs = self.activate("bob", "--gpus 1", "--name resnet")
        self.compute("bob", bobs.variable("GENV_ENVIRONMENT_ID"))
        self.assertEqual(bobs.run("genv park").status, 0)
        self.page.await_text("resnet", "#parked")
        self.page.become_administrator()
        self.page.click("Resume resnet of bob")
        self.page.click("Resume", "dialog")
        self.await_card(0, "resnet")
        until(lambda: not self.page.elements("#parked"), "the end of the list")
