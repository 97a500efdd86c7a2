# SPDX-License-Identifier: LGPL-2.1-or-later
"""The jobs of the user on the page: with the real systemd and bus of carol, genv-jobs and genvctl."""

import json

import pathlib
import pwd
import re
import shutil
import subprocess

import rules
from bus_scenario import AS_USER, programs
from page_scenario import PageTest
from waiting import until

HOME = pathlib.Path(pwd.getpwnam("carol").pw_dir)
HOSTILE = '<img src=x onerror="document.title=1"><b>x</b>'
UNTIL_GO = "until [ -e go ]; do sleep 0.02; done"  # a job that runs until the test says so


class Jobs(PageTest):
    def tearDown(self):
        for job in self.jobs():
            self.genvctl("cancel", str(job["job"]))
        until(lambda: not any(job["waiting"] or job["running"] for job in self.jobs()), "the end of all jobs")
        (HOME / "go").unlink(missing_ok=True)
        super().tearDown()
        # The next test begins without jobs.
        self.systemctl("stop", "genv-jobs.service")
        shutil.rmtree(HOME / ".local/state/genv/jobs", ignore_errors=True)

    @staticmethod
    def genvctl(*words):
        return subprocess.run([AS_USER, "carol", programs["genvctl"], *words], capture_output=True, text=True, check=False)

    @staticmethod
    def systemctl(*words):
        subprocess.run([AS_USER, "carol", "systemctl", "--user", *words], check=True, capture_output=True)

    def jobs(self):
        return json.loads(self.genvctl("jobs", "--all", "--json").stdout)

    def submit(self, **fields):
        """Submits a job on the page, and returns its number."""
        self.page.click("Submit job")
        self.page.fill(**fields)
        self.page.click("Submit", "dialog")
        until(lambda: not self.page.elements("dialog"), "the end of the dialog")
        return self.jobs()[-1]["job"]

    def await_state(self, job, pattern):
        until(lambda: re.search(pattern, self.row(job)), f"{pattern} in job {job}")

    def row(self, job):
        return self.page.driver.execute_script(
            "return [...document.querySelectorAll('#jobs tbody tr')].find(row => row.firstChild.innerText.trim() === arguments[0])?.innerText ?? ''", str(job))

    @staticmethod
    def go():
        (HOME / "go").touch()

    def test_a_sweep_of_200_from_its_submission_to_its_end(self):
        job = self.submit(text='sh -c "[ {} != 77 ] && echo value {}"', name="sweep", array="1-200")
        self.await_state(job, r"sweep(.|\n)*199/200 done, 1 failed")
        bar = self.page.driver.execute_script(
            "const bar = document.querySelector('#jobs [role=progressbar]'); return [bar.ariaValueNow, bar.ariaValueMax, bar.querySelectorAll('rect').length]")
        self.assertEqual(bar, ["200", "200", 3])
        self.assertNotIn("got GPU", self.page.text("#announcements"))  # not 200 times
        self.page.click(f"Output of job {job} (sweep)")
        self.page.await_text(r"77\s+77\s(.|\n)*failed: exit status 1", ".tasks")
        self.page.await_text("value 200", ".log")
        self.page.click("Output of task 77")
        self.page.await_text("No output.", "dialog")
        self.picture("sweep-dialog")
        self.page.click("Close", "dialog")
        self.page.click(f"Requeue job {job} (sweep)")  # the one that failed: no question
        self.page.await_text("1 task requeued", "#announcements")

    def test_output_is_followed_and_escapes_do_nothing(self):
        job = self.submit(text=f"#!/bin/sh\n#genv --gpus 2\nprintf '\\033[31mred\\033[0m \\033]0;title\\007%s\\n' '{HOSTILE}'\nprintf '10%%\\r20%%'\n"
                          f"{UNTIL_GO}\nprintf '\\r99%%\\nsecond\\n'", name=HOSTILE)
        self.page.click(f"Output of job {job} ({HOSTILE})")
        self.page.await_text("^red " + re.escape(HOSTILE) + "\n20%$", ".log")
        self.page.await_text("2 GPUs", "dialog dl")
        self.go()
        self.page.await_text("99%\nsecond\n", ".log")
        self.page.await_text("The output is complete", "dialog")
        self.page.await_text("done", "dialog dl")
        self.assertEqual(self.page.elements("dialog img, dialog b, #jobs img, #jobs b b"), [])
        self.assertEqual(self.page.driver.execute_script("return document.title"), "GPUs")
        self.page.click("Close", "dialog")
        until(lambda: not self.followers(), "the end of genvctl logs")

    def test_a_flood_of_output_leaves_the_page_responsive(self):
        job = self.submit(text=f"{UNTIL_GO}; seq 100000; echo end; exec sleep 1000", name="flood")
        self.page.click(f"Output of job {job} (flood)")
        self.page.await_text("No output yet", "dialog")
        self.go()
        self.page.await_text("Only the last lines", "dialog")
        self.page.await_text("100000\nend\n", ".log")
        lines = self.page.driver.execute_script("return document.querySelector('.log').textContent.split('\\n').length")
        self.assertLessEqual(lines, 1001)
        self.page.click("Close", "dialog")
        until(lambda: not self.followers(), "the end of genvctl logs")
        self.page.click(f"Cancel job {job} (flood)")
        self.page.click("Cancel job", "dialog")
        self.await_state(job, "canceled")

    @staticmethod
    def followers():
        return subprocess.run(["pgrep", "-u", "carol", "-f", "genvctl logs"], capture_output=True, text=True, check=False).stdout

    def test_a_job_is_held_released_canceled_and_requeued_and_asks_where_work_is_lost(self):
        first = self.submit(text=UNTIL_GO, name="first", gpus="3")
        self.await_state(first, "running")
        second = self.submit(text="true", name="second", gpus="2")
        self.await_state(second, "waiting: held back|waiting for free GPUs|waiting: .*quota")
        self.page.click(f"Hold job {second} (second)")
        self.await_state(second, "held")
        self.page.click(f"Release job {second} (second)")
        self.await_state(second, "waiting")
        self.page.click(f"Cancel job {second} (second)")  # nothing is lost: no question
        self.await_state(second, "canceled")
        self.page.click(f"Cancel job {first} (first)")
        self.page.await_text("1 task runs. It is ended", "dialog")
        self.page.click("Cancel", "dialog footer")
        self.await_state(first, "running")
        self.page.click(f"Cancel job {first} (first)")
        self.page.click("Cancel job", "dialog")
        self.await_state(first, "canceled")
        self.page.click(f"Requeue job {second} (second)")
        self.await_state(second, "done")
        self.page.click(f"Requeue job {second} (second)")
        self.page.await_text("1 task is done", "dialog")
        self.page.click("Run again", "dialog")
        self.page.await_text("1 task requeued", "#announcements")

    def test_a_submission_is_that_of_genvctl_in_a_login_shell(self):
        (HOME / ".profile").write_text("export FROM_PROFILE=yes; echo noise\n", encoding="utf-8")
        (HOME / "project").mkdir()
        self.addCleanup(shutil.rmtree, HOME / "project")
        self.addCleanup((HOME / ".profile").unlink)
        self.page.click("Submit job")
        for fields, error in [
                ({"text": "env", "folder": "/nonexistent"}, "There is no folder /nonexistent"),
                ({"folder": "~/project", "gpus": "9"}, "only 4|4 GPUs|requested"),
                ({"gpus": "", "array": "1-3", "text": "echo {} | cat"}, r"{} is not replaced"),
                ({"text": "env", "array": "5-1"}, "5-1 is empty"),
        ]:
            self.page.fill(**fields)
            self.page.click("Submit", "dialog")
            self.page.await_text(error, "dialog .alert")
        self.assertEqual(self.jobs(), [])
        self.page.fill(array="", name="variables", lifetime="30", lifetimeUnit="min")
        self.page.click("Submit", "dialog")
        until(lambda: not self.page.elements("dialog"), "the end of the dialog")
        job = self.jobs()[-1]["job"]
        self.await_state(job, "done")
        found = self.genvctl("logs", str(job)).stdout
        self.assertRegex(found, "(?m)^FROM_PROFILE=yes$")
        self.assertRegex(found, f"(?m)^PWD={HOME}/project$")
        self.assertEqual(json.loads(self.genvctl("job", "--json", str(job)).stdout)["lifetime_seconds"], 1800)

    def test_looks(self):
        self.page.await_text("genvctl submit -- COMMAND", "#jobs")
        job = self.submit(text=UNTIL_GO, name="sweep", array="1-9")
        self.await_state(job, r"0/9 done, 3 running")
        for is_dark, width in ((False, 1400), (True, 1400), (False, 360)):
            self.page.dark(is_dark)
            self.page.resize(width, 2000)
            until(lambda: self.page.driver.execute_script("return document.documentElement.classList.contains('dark') === arguments[0]"
                                                          " && (innerWidth < 500) === arguments[1]", is_dark, width < 500), "the style")
            self.page.driver.execute_script("document.querySelector('#jobs').scrollIntoView()")
            self.assert_well("jobs", is_dark, width)
            self.page.click("Submit job")
            self.page.driver.execute_script("document.querySelector('dialog details').open = true")
            self.assert_well("submit", is_dark, width)
            self.page.click("Cancel", "dialog")
            self.page.click(f"Output of job {job} (sweep)")
            self.page.await_text(r"3\s+3\s(.|\n)*running", ".tasks")
            self.assert_well("job", is_dark, width)
            self.page.click("Close", "dialog")
        self.page.resize(1400, 1000)

    def assert_well(self, what, is_dark, width):
        self.picture(f"{what}-{'dark' if is_dark else 'light'}-{width}")
        self.assertEqual(self.page.driver.execute_script(rules.OVERFLOW), [], (what, width))
        self.assertEqual(self.page.driver.execute_script(rules.RULES), [], (what, is_dark, width))

    def test_a_genv_jobs_that_cannot_start_is_said_with_what_helps(self):
        # In this order, no start comes after the stop: the open page may ask for the jobs at any time.
        self.systemctl("mask", "--runtime", "genv-jobs.service")
        self.systemctl("stop", "genv-jobs.service")
        self.page.open_page()
        try:
            self.page.await_text("systemctl --user unmask genv-jobs", "#jobs")
        finally:
            self.picture("cannot-start")
            self.systemctl("unmask", "--runtime", "genv-jobs.service")
        self.page.click("Try again", "#jobs")
        self.page.await_text("Submit one here", "#jobs")
