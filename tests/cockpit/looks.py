# SPDX-License-Identifier: LGPL-2.1-or-later
"""The page for users with a small screen, without a mouse, with a screen reader, in another language, and on machines
with many GPUs or none."""

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

import rules
from page_scenario import PageTest
from waiting import until


class Looks(PageTest):
    """The page for users with a small screen, without a mouse, with a screen reader, or in another language."""

    def busy(self):
        shell = self.activate("alice", "--gpus 2", "--name training", "--lifetime 8h")
        pid = int(shell.run("sleep 1000 & echo $!").out)
        self.machine.run(0, pid, 61, 93)
        self.activate("bob", "--gpus 1", "--name " + "n" * 64)
        self.start(name="mine", gpus="1", lifetime="2")
        self.page.await_text("mine", "#environments")

    def test_nothing_is_wider_than_a_phone(self):
        self.busy()
        for width in (360, 768, 1400, 3840):
            self.page.resize(width, 2400)
            until(lambda: self.page.driver.execute_script("return innerWidth > 100"), "the size")
            self.picture(f"width-{width}")
            self.assertEqual(self.page.driver.execute_script(rules.OVERFLOW), [], width)
            self.assertEqual(self.page.driver.execute_script(rules.CLIPPED), [], width)
            self.assertEqual(self.page.driver.execute_script(rules.UNALIGNED), [], width)
        self.page.click("Start environment")
        self.page.resize(360, 740)
        self.picture("dialog-360")
        self.assertEqual(self.page.driver.execute_script(rules.OVERFLOW), [])
        self.page.click("Cancel", "dialog")
        self.page.resize(1400, 1000)

    def test_names_roles_and_contrast_in_light_and_dark(self):
        self.busy()
        for is_dark in (False, True):
            self.page.dark(is_dark)
            until(lambda: self.page.driver.execute_script("return document.documentElement.classList.contains('dark')") == is_dark, "the theme")
            self.picture("dark" if is_dark else "light")
            self.assertEqual(self.page.driver.execute_script(rules.RULES), [])
            self.page.click("Start environment")
            self.assertEqual(self.page.driver.execute_script(rules.RULES), [])
            self.page.click("Cancel", "dialog")
        self.page.dark(False)

    def press(self, *keys):
        ActionChains(self.page.driver).send_keys(*keys).perform()

    def focused(self):
        return self.page.driver.execute_script(
            "const e = document.activeElement; return e.getAttribute('aria-label') || e.name || e.innerText")

    def tab_to(self, name):
        for _ in range(60):
            if self.focused() == name or self.page.driver.execute_script("return document.activeElement.innerText") == name:
                return
            self.press(Keys.TAB)
        self.fail(f"the keyboard does not reach {name}")

    def test_the_keyboard_is_enough(self):
        self.page.driver.execute_script("document.body.tabIndex = -1; document.body.focus()")
        self.tab_to("Start environment")
        self.press(Keys.ENTER)
        self.page.await_element("dialog[open]")
        until(lambda: self.focused() == "name", "the focus in the dialog")
        self.press(Keys.ESCAPE)
        until(lambda: not self.page.elements("dialog"), "the end of the dialog")
        until(lambda: self.focused() == "Start environment", "the focus where it was")
        self.press(Keys.ENTER)
        self.page.await_element("dialog[open]")
        self.press("typed", Keys.ENTER)
        self.page.await_text("typed", "#environments")
        until(lambda: not self.page.elements("dialog"), "the end of the dialog")
        self.tab_to("End environment typed")
        self.press(Keys.SPACE)
        self.page.await_element("dialog[open]")
        self.press(Keys.ENTER)
        self.page.await_text("No environments")


class German(PageTest):
    language = "de-DE"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.page.driver.add_cookie({"name": "CockpitLang", "value": "de-de"})

    def test_the_page_speaks_german(self):
        self.activate("alice", "--gpus 1", "--name training")
        self.page.await_text("Belegt", '[aria-labelledby="gpu-0"]')
        self.page.await_text("Meine Umgebungen")
        self.page.await_text("Hier können keine Jobs laufen", "#jobs")
        # The page puts events into words itself. The service speaks English.
        self.activate("carol", "--gpus 1", "--name klein")
        self.page.await_text("Umgebung klein von carol gestartet", "#events")
        self.page.await_text("GPU 1 an klein von carol zugeteilt", "#events")
        self.assertNotIn("Environment", self.page.text("#events"))
        self.assertEqual(self.page.driver.execute_script("return document.documentElement.lang"), "de-de")

    def test_a_refusal_has_room_on_a_phone(self):
        self.activate("bob", "--gpus 4", "--name big")
        self.page.click("Umgebung starten")
        self.page.click("Starten", "dialog")
        self.page.await_text("Keine GPU ist frei. In der Warteschlange warten\\? Sie wären an erster Stelle.", "dialog")
        self.page.resize(360, 740)
        self.picture("refused-german")
        self.assertEqual(self.page.driver.execute_script(rules.OVERFLOW), [])
        self.page.resize(1400, 1000)


class ManyGpus(PageTest):
    gpus = 64

    def test_all_are_there(self):
        self.activate("alice", "--gpus 3", "--name sweep")
        self.page.await_text("64 GPUs · 61 free")
        self.assertEqual(len(self.page.elements(".card")), 64)
        self.assertEqual(self.page.driver.execute_script(rules.UNALIGNED), [])

    def test_on_a_phone_they_are_a_list_below_the_actions(self):
        self.activate("alice", "--gpus 3", "--name " + "n" * 64)
        self.page.await_text("64 GPUs · 61 free")
        self.page.resize(360, 740)
        self.page.await_element(".list")
        self.assertEqual(len(self.page.elements(".row")), 64)
        place = "return document.querySelector(arguments[0]).getBoundingClientRect()[arguments[1]]"
        self.assertLess(self.page.driver.execute_script(place, "#queue", "bottom"), self.page.driver.execute_script(place, ".list", "top"))
        self.assertLess(self.page.driver.execute_script(place, ".list", "height"), 64 * 50)
        self.page.driver.execute_script("document.querySelector('.row details').open = true")
        self.picture("many-360")
        self.await_card(0, "0000:41:00.0(.|\n)*Memory")
        self.assertEqual(self.page.driver.execute_script(rules.OVERFLOW), [])
        self.assertEqual(self.page.driver.execute_script(rules.RULES), [])
        self.page.resize(1400, 1000)
        self.page.await_element(".cards")


class NoGpus(PageTest):
    gpus = 0

    def test_a_sentence_says_so(self):
        self.page.await_text("genv finds no GPU")
