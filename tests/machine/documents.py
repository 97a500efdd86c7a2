# SPDX-License-Identifier: LGPL-2.1-or-later
"""Types the commands of README and the pages of data/doc: each command in its order, as the user who types it in the
page.

The commands come only from the pages. The tables here list the commands that cannot be typed in this machine, that
fail, or that keep running. assumed.py prepares their preconditions.
"""

import fnmatch
import json

import pages
import scenario
from assumed import BEFORE, PAGES, prepare_machine, prepare_people
from scenario import MachineTest, await_that
from typist import Typist

SOURCES = "builds or tests the sources, which the machine does not have"
ENGINE = "needs docker and an image from the internet"
DRIVER = "needs nvtop and NVIDIA's driver"
KIT = "needs the GPU kit and NVIDIA's driver"

# Commands that are not typed, as shell patterns, and the reasons.
EXCEPTIONS = {
    "./dev *": SOURCES,
    "sudo ./dev *": SOURCES,
    "build/*": SOURCES,
    "cp build/*": SOURCES,
    "setarch -R tests/*": SOURCES,
    "tests/*": SOURCES,
    "ctest *": SOURCES,
    "cmake *": SOURCES,
    "DESTDIR=* cmake *": SOURCES,
    "DEBFULLNAME=* ./dev *": SOURCES,
    "GENV_MUTANT=* build/mutate/*": SOURCES,
    "data/packaging/*": SOURCES,
    "autopkgtest *": SOURCES,
    "docker run --rm --gpus all nvidia/*": ENGINE,
    "docker run --gpus 3 nvidia/*": ENGINE,
    "tar xf genv-gpu-kit.tar.xz": KIT,
    "./kit/run": KIT,
    "GENV_BYPASS=1 nvtop": DRIVER,
    "genvctl run --gpus 2 --nvml-filter -- nvtop": DRIVER,
    "sudo python3 -m pip uninstall genv": "needs genv 1 from the internet",
    "sudo -u genv-fleet ssh h1 true": "needs a second host, with another user of that name",
}

# The exit status of commands that fail, as their page says.
STATUS = {
    "genv attach --index 0": 5,
    "genvctl doctor genv-1": 1,
}

# Commands that keep running during the rest of their page: the user types the next command at another terminal.
GOES_ON = [
    "genvctl run --gpus 1 --gpu-memory 8g -- python train.py",
    "genvctl run --gpus 4 --wait=2h --lifetime 8h -- python train.py",
]


def excused(command):
    """Returns the pattern of EXCEPTIONS that matches a command."""
    return next((pattern for pattern in EXCEPTIONS if fnmatch.fnmatchcase(command.name, pattern)), None)


class Session:
    """A page, the terminals of its users, and the ids in this machine for the page's ids."""

    def __init__(self, test, page):
        self.test, self.page, self.machine = test, page, scenario.machine
        self.shape, self.shells, self.others = pages.Shape(), {}, []

    # The state that a page assumes

    def prepare(self, user, command):
        """Types a command at the terminal of a user of the page."""
        return self._type_before(self._shell(user, True), command)

    def beside(self, user, command):
        """Types a command at another terminal."""
        self.others.append(Typist(self.machine, user))
        return self._type_before(self.others[-1], command)

    def gpu_process(self, user, prefix=""):
        """Returns the PID of a process that uses a GPU, started at another terminal."""
        pid = self.beside(user, f"{prefix}gpu-work infinity & echo $!").split()[-1]
        self.test.addCleanup(self.machine.run, ["kill", pid])
        await_that("the process in a sample", lambda: pid in json.dumps(self.test.snapshot()["processes"]))
        return pid

    def holds(self, user, count):
        """Returns whether the environments of a user hold that number of devices."""
        owned = self._environments(user)
        return sum(environment in owned for held in self.test.holders().values() for environment in held) == count

    def close(self, user=None):
        """All users, or one of them, log out, and their environments end."""
        for shell in [*self.others, *self.shells.values()]:
            if user in (None, shell.user):
                shell.leave()
        await_that("the end of what they have", lambda: not self._environments(user))
        self.others = [shell for shell in self.others if shell.pid]
        self.shells = {name: shell for name, shell in self.shells.items() if shell.pid}

    def _environments(self, user=None):
        """Returns the ids of the environments of a user, or of all users."""
        environments = self.test.snapshot()["envs"]["envs"]
        return [environment["eid"] for environment in environments if user in (None, environment["username"])]

    def _type_before(self, shell, command):
        shown = shell.run(command)
        self.test.assertEqual(shell.status, 0, f"{command}: {shown}")
        return shown

    # The page itself

    def type(self, command):
        BEFORE.get((command.page, command.name), lambda session: None)(self)
        shell = self._shell(command.user, command.active)
        prompt = ("(genv) " if command.active else "") + command.user + ("#" if command.user == "root" else "$")
        self.test.assertEqual(shell.prompt, prompt, command.where)
        pattern, groups = self.shape.pattern(command.output)
        shell.start(self.shape.here(command.text))
        if command.interrupted or command.name in GOES_ON:
            shell.await_output(pattern)
        if command.name in GOES_ON:
            self.others.append(self.shells.pop(command.user))
        elif command.interrupted:
            self.test.assertTrue(command.output, f"{command.where}: shows nothing that says when to type Ctrl-C")
            shell.interrupt()
            shell.await_prompt()
        else:
            self._compare(command, shell.await_prompt(), shell.status, pattern)
        self.shape.learn(pattern.match(shell.output()), groups)

    def _shell(self, user, active):
        """Returns the user's shell. If the user has an active environment and the page shows none, the user leaves that
        shell and opens another."""
        if user in self.shells and self.shells[user].active and not active:
            environment = self.shells[user].run("echo $GENV_ENVIRONMENT_ID").strip()
            self.shells.pop(user).leave()
            await_that(f"the end of environment {environment}", lambda: environment not in self._environments())
        if user not in self.shells:
            self.shells[user] = Typist(self.machine, user)
        return self.shells[user]

    def _compare(self, command, output, status, pattern):
        said = f"{command.where}\n--- the page\n" + "\n".join(command.output) + f"\n--- the machine\n{output}---"
        self.test.assertEqual(status, STATUS.get(command.name, 0), f"exit status of {said}")
        if command.output and not pattern.fullmatch(output):
            self.test.fail(f"output of {said}")
        self.test.assertNotIn("-- No entries --", output, said)


class Tables(MachineTest):
    """The pages can be parsed, and every entry of the tables matches a command."""

    installed = False

    def test_each_block_is_fenced_and_says_what_it_is(self):
        self.assertEqual([fault for page in READ for fault in page.faults], [])

    def test_each_exception_is_in_a_page(self):
        used = {excused(command) for page in READ for command in page.commands}
        self.assertEqual([pattern for pattern in EXCEPTIONS if pattern not in used], [])

    def test_each_command_of_the_tables_is_in_a_page(self):
        commands = {(command.page, command.name) for page in READ for command in page.commands}
        names = {name for _, name in commands}
        self.assertEqual([name for name in [*STATUS, *GOES_ON] if name not in names], [])
        self.assertEqual([entry for entry in BEFORE if entry not in commands], [])


class Documents(MachineTest):
    """One test for each page."""

    prepared = False

    def setUp(self):
        super().setUp()
        if not Documents.prepared:
            prepare_machine(scenario.machine)
            Documents.prepared = True
        prepare_people(scenario.machine)

    def type(self, page):
        session = Session(self, page)
        self.addCleanup(session.close)
        PAGES.get(page.name, lambda session: None)(session)
        for command in page.commands:
            if not excused(command):
                session.type(command)


READ = pages.read()
for _page in READ:
    if any(not excused(command) for command in _page.commands):
        setattr(Documents, f"test_{_page.name}", lambda self, page=_page: self.type(page))
