# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the tests of the page share: Cockpit, a browser with a login, and the service on a fake NVML."""

import atexit
import functools
import json
import os
import pathlib
import re
import subprocess

from browser import Browser, Cockpit
from bus_scenario import BUS_FOLDER, DEADLINE_SECONDS, BusTest, programs
from machine import FILE, Machine

CONTROL = os.path.join(BUS_FOLDER, "control")
PICTURES = os.environ.get("GENV_PICTURES")


@functools.cache
def server():
    """Returns the Cockpit of all tests, which starts with the first."""
    cockpit = Cockpit(os.environ["GENV_BUILD"])
    atexit.register(cockpit.close)
    return cockpit


class PageTest(BusTest):
    """Each test has its own service, and each class its own login."""

    gpus = 4
    language = "en-US"
    variables = {"LD_LIBRARY_PATH": os.environ.get("FAKE_NVML", ""), "GENV_FAKE_NVML": FILE}
    configuration = "[GPU]\nBackend=nvml\n[Limits]\nMaxDevicesPerUser=3\n[User bob]\nMaxDevicesPerUser=4\n"

    @classmethod
    def setUpClass(cls):
        cls.page = Browser(server(), cls.language)
        cls.page.login()

    @classmethod
    def tearDownClass(cls):
        cls.page.close()

    def setUp(self):
        path = os.path.join(os.environ["CONFIGURATION_DIRECTORY"], "genvd.conf")
        pathlib.Path(path).write_text(self.configuration, encoding="utf-8")
        self.machine = Machine(self.gpus)
        super().setUp()
        self.page.open_page()

    def tearDown(self):
        self.picture(self.id().rpartition(".")[2])
        complaints = self.page.errors()
        # The page's holder processes end with their environments.
        for environment in json.loads(self.ctl("root", "envs", "--json").out) if self.service else []:
            self.ctl("root", "deactivate", "--id", environment["id"])
        super().tearDown()
        self.assertEqual(complaints, [])

    def start_service(self, program=None):
        """Starts the service, or another one, with events in the journal."""
        environment = dict(os.environ, **self.variables)
        self.service = subprocess.Popen(["systemd-cat", "--identifier=genvd", program or programs["genvd"]], env=environment)
        subprocess.run(["gdbus", "wait", "--system", "--timeout", str(DEADLINE_SECONDS), "dev.genv.Manager"], check=True)

    def picture(self, name):
        if PICTURES:
            self.page.picture(os.path.join(PICTURES, f"{name}.png"))

    def activate(self, user, *arguments):
        shell = self.shell(user)
        done = shell.run(f"genv activate {' '.join(arguments)}")
        self.assertEqual(done.status, 0, done)
        return shell

    def card(self, index):
        return self.page.text(f'[aria-labelledby="gpu-{index}"]')

    def await_card(self, index, pattern):
        self.page.until(lambda: re.search(pattern, self.card(index)), f"{pattern} on GPU {index}")

    def start(self, **fields):
        self.page.click("Start environment")
        self.page.fill(**fields)
        self.page.click("Start", "dialog")
        self.page.until(lambda: not self.page.elements("dialog"), "the end of the dialog")

