# SPDX-License-Identifier: LGPL-2.1-or-later
"""A page that is open while genv is upgraded: the service has another version afterwards, and the page other files."""

import os
import shutil

from browser import COCKPIT, FOLDER
from page_scenario import PageTest
from waiting import until

PAGE = COCKPIT / "genv"


class Upgrading(PageTest):
    def setUp(self):
        shutil.copytree(PAGE, FOLDER / "installed-page", dirs_exist_ok=True)
        super().setUp()
        self.page.await_text("4 GPUs · 4 free")
        # A variable of the page's window, which a reload of the page would end.
        self.page.driver.execute_script("window.opened = true")

    def tearDown(self):
        shutil.copytree(FOLDER / "installed-page", PAGE, dirs_exist_ok=True)
        (PAGE / "views/later.js").unlink(missing_ok=True)
        super().tearDown()

    def is_same_page(self):
        """Returns whether the window has not loaded another page."""
        return self.page.driver.execute_script("return window.opened === true")

    def upgrade(self):
        """Stops the service, replaces the files of the page, and starts a later service."""
        self.stop_service()
        self.page.await_text("genv is not running")
        self.page.await_text("This page returns by itself")
        self.picture("upgrade-stopped")
        # The later page has another text and a new file.
        self.replace("version.js", {'VERSION = "2.0.0"': 'VERSION = "99.0.0"'})
        self.replace("views/page.js", {'format(_("$0 free"), free)': "says(free)", "\nimport {h}": '\nimport {says} from "./later.js";\nimport {h}'})
        (PAGE / "views/later.js").write_text("export const says = free => `${free} free, says the later page`;\n", encoding="utf-8")
        self.start_service(os.environ["LATER_GENVD"])

    def replace(self, name, changes):
        text = (PAGE / name).read_text(encoding="utf-8")
        for old, new in changes.items():
            self.assertIn(old, text)
            text = text.replace(old, new)
        (PAGE / name).write_text(text, encoding="utf-8")

    def reload(self):
        self.page.click("Reload")
        until(lambda: not self.is_same_page(), "another page")
        self.page.enter_page()

    def test_an_open_page_returns_by_itself_and_reloads_when_asked(self):
        self.upgrade()
        self.page.await_text("4 GPUs · 4 free")
        self.page.await_text(r"genv was upgraded to version 99\.0\.0\. This page has version 2\.")
        self.picture("upgraded")
        self.assertTrue(self.is_same_page())
        # It shows the state of the later service, too.
        self.activate("alice", "--gpus 1", "--name training")
        self.await_card(0, "alice · training")
        self.reload()
        self.page.await_text("4 GPUs · 3 free, says the later page")
        self.assertNotIn("genv was upgraded", self.page.text())

    def test_a_restart_of_the_same_version_needs_no_reload(self):
        self.stop_service()
        self.page.await_text("genv is not running")
        self.start_service()
        self.page.await_text("4 GPUs · 4 free")
        self.assertTrue(self.is_same_page())
        self.assertNotIn("genv was upgraded", self.page.text())

    def test_a_page_that_opens_afterwards_is_the_later_one_or_says_that_it_is_not(self):
        self.upgrade()
        self.page.open_page()
        # Cockpit 287 serves the page that the browser kept, later versions read the packages again.
        self.page.await_text("genv was upgraded|says the later page")
        if "genv was upgraded" in self.page.text():
            self.reload()
        self.page.await_text("4 GPUs · 4 free, says the later page")
        self.assertNotIn("genv was upgraded", self.page.text())
