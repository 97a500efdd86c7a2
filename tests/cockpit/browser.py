# SPDX-License-Identifier: LGPL-2.1-or-later
"""Cockpit with the page of genv on the private bus, and a browser that shows it.

Everything is mounted inside the namespace of private-bus, so the machine's own Cockpit is neither changed nor reached.
"""

import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "client"))
sys.dont_write_bytecode = True

from selenium import webdriver  # noqa: E402
from selenium.common.exceptions import NoSuchFrameException, StaleElementReferenceException  # noqa: E402
from selenium.webdriver.chrome.options import Options  # noqa: E402
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.support.ui import Select  # noqa: E402

from bus_scenario import BUS_FOLDER, programs  # noqa: E402
from waiting import until  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
FOLDER = pathlib.Path(BUS_FOLDER or "/nonexistent")
PASSWORD = "gpu-for-all"  # set in tests/private_bus/users.sh
COCKPIT = pathlib.Path("/usr/share/cockpit")
LINGERED = FOLDER / "lingered"


def mount(*arguments):
    subprocess.run(["mount", "--no-mtab", *map(str, arguments)], check=True)


def cover(folder):
    """Makes a folder writable for new entries, and keeps its present entries."""
    aside = FOLDER / ("covered" + str(folder).replace("/", "_"))
    aside.mkdir()
    mount("--rbind", folder, aside)
    mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", folder)
    for entry in aside.iterdir():
        target = folder / entry.name
        if entry.is_dir():
            target.mkdir()
        else:
            target.touch()
        mount("--rbind", entry, target)


def make_exist(path):
    """Provides a file that this machine lacks, such as one of a package that is not installed."""
    if not path.exists():
        folder = next(parent for parent in path.parents if parent.is_dir())
        cover(folder)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def install(build):
    """Installs the page as the build does."""
    root = FOLDER / "installed"
    subprocess.run(["cmake", "--install", build, "--component", "cockpit"], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "DESTDIR": str(root)})
    page, = root.rglob("cockpit/genv")
    cover(COCKPIT)
    # The overview of later versions does not load if no session has a bus.
    mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", COCKPIT / "systemd")
    shutil.copytree(page, COCKPIT / "genv")
    manifest = json.loads((COCKPIT / "genv/manifest.json").read_text(encoding="utf-8"))
    make_exist(pathlib.Path(manifest["conditions"][0]["path-exists"]))


def allow_sudo():
    mount("-t", "tmpfs", "-o", "mode=750", "tmpfs", "/etc/sudoers.d")
    rule = pathlib.Path("/etc/sudoers.d/carol")
    rule.write_text("carol ALL=(ALL) ALL\n", encoding="utf-8")
    rule.chmod(0o440)


def stand_in(name, target):
    text = (HERE / "stand-ins" / name).read_text(encoding="utf-8")
    file = FOLDER / f"stand-in-{name}"
    file.write_text(text.replace("@GENV_TEST_BIN@", os.path.dirname(programs["genvctl"])), encoding="utf-8")
    file.chmod(0o755)
    mount("--bind", file, target)


def give_user_bus():
    """Gives logins what pam_systemd gives them, and a genvctl."""
    variables = FOLDER / "environment"
    variables.write_text("XDG_RUNTIME_DIR=/run/user/1003\nDBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/1003/bus\n", encoding="utf-8")
    mount("--bind", variables, "/etc/environment")
    cover(pathlib.Path("/usr/local/bin"))
    pathlib.Path("/usr/local/bin/genvctl").symlink_to(programs["genvctl"])


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def unless_replaced(condition):
    """Returns a condition for until() that is false when Cockpit's shell replaces an element between two questions about it."""
    def holds():
        try:
            return condition()
        except (NoSuchFrameException, StaleElementReferenceException):
            return False
    return holds


class Cockpit:
    """The web server, shared by all tests."""

    def __init__(self, build):
        install(build)
        allow_sudo()
        stand_in("systemd-run", "/usr/bin/systemd-run")
        self.has_manager = pathlib.Path("/run/user/1003/bus").exists()
        if self.has_manager:
            give_user_bus()
        else:
            pathlib.Path("/run/user/1003").mkdir(parents=True)
            os.chown("/run/user/1003", 1003, 1003)
        self.login = subprocess.Popen([HERE / "stand-ins/login1", LINGERED], stderr=subprocess.DEVNULL)
        self.port = free_port()
        configuration = FOLDER / "etc/cockpit/cockpit.conf"
        configuration.parent.mkdir(exist_ok=True)
        configuration.write_text("[Basic]\nCommand=/usr/lib/cockpit/cockpit-session\n", encoding="utf-8")
        with open(FOLDER / "cockpit-ws.log", "ab") as log:
            self.process = subprocess.Popen(
                [shutil.which("cockpit-ws", path="/usr/lib/cockpit:/usr/libexec"), "--no-tls", "-a", "127.0.0.1", "-p", str(self.port)],
                env={**os.environ, "XDG_CONFIG_DIRS": str(FOLDER / "etc")}, stdout=log, stderr=log)
        until(self.answers, "cockpit-ws")

    def answers(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def close(self):
        for process in (self.process, self.login):
            process.kill()
            process.wait()


class Browser:
    """A window of Chromium."""

    def __init__(self, cockpit, language="en-US", width=1400, height=1000):
        self.base = f"http://127.0.0.1:{cockpit.port}"
        options = Options()
        for word in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--no-first-run", "--disable-extensions",
                     f"--window-size={width},{height}", f"--lang={language}", "--force-prefers-reduced-motion"):
            options.add_argument(word)
        options.add_experimental_option("prefs", {"intl.accept_languages": language})
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        # Chromium ends when a bus that it uses ends.
        variables = {**os.environ, "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent"}
        self.driver = webdriver.Chrome(service=Service(shutil.which("chromedriver"), env=variables), options=options)
        self.language = language

    def close(self):
        self.driver.quit()

    def login(self, user="carol", password=PASSWORD):
        self.driver.get(f"{self.base}/system")
        self.fill_login_form(user, password)

    def fill_login_form(self, user="carol", password=PASSWORD):
        # A script of Cockpit shows the form once it has looked at the browser.
        self.await_visible("#login-user-input").send_keys(user)
        self.await_visible("#login-password-input").send_keys(password)
        self.await_visible("#login-button").click()
        self.until(lambda: self.elements("#topnav, #nav-system"), "the shell of Cockpit")

    def open_page(self):
        """Opens the page inside Cockpit's shell, as users see it."""
        self.driver.get(f"{self.base}/genv")
        self.until(unless_replaced(lambda: self.enters_page() or self.logs_in_again()), "the page")

    def logs_in_again(self):
        """Logs in if Cockpit asks for it: it ends a session without a connection after 15 seconds, and a busy machine may take
        longer from one page to the next. Returns false: the page comes after that."""
        if any(each.is_displayed() for each in self.elements("#login-user-input")):
            self.fill_login_form()
        return False

    def enter_page(self):
        self.until(unless_replaced(self.enters_page), "the page")

    def enters_page(self):
        """Turns to the frame of the page, and returns whether that is ready."""
        self.driver.switch_to.default_content()
        for frame in self.elements('iframe[name="cockpit1:localhost/genv"]'):
            self.driver.switch_to.frame(frame)
            return bool(self.elements('body[data-phase="ready"]'))
        return False

    def until(self, condition, what):
        """Waits for an event, and tells what the window showed if that does not come."""
        try:
            return until(condition, what)
        except AssertionError as error:
            page = unless_replaced(self.text)()
            self.driver.switch_to.default_content()
            raise AssertionError(f"{error}; the page shows {page!r}; {self.driver.current_url} shows {self.text()!r}") from error

    def elements(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def await_element(self, selector):
        return self.until(lambda: self.elements(selector), selector)[0]

    def await_visible(self, selector):
        return self.until(unless_replaced(lambda: next((each for each in self.elements(selector) if each.is_displayed()), None)), selector)

    def text(self, selector="body"):
        return self.driver.execute_script("return document.querySelector(arguments[0])?.innerText ?? ''", selector)

    def await_text(self, text, selector="body"):
        self.until(lambda: re.search(text, self.text(selector)), f"{text} in {selector}")

    def await_no_text(self, text, selector="body"):
        self.until(lambda: not re.search(text, self.text(selector)), f"no {text} in {selector}")

    def click(self, name, within="body"):
        """Presses a button, by its accessible name."""
        self.until(lambda: self.press(name, within), f"the button {name}")

    def press(self, name, within="body"):
        return self.driver.execute_script("""
            const found = [...document.querySelector(arguments[1])?.querySelectorAll("button") ?? []].find(
                each => (each.getAttribute("aria-label") ?? each.innerText) === arguments[0] && !each.disabled);
            found?.click();
            return Boolean(found);""", name, within)

    def fill(self, **fields):
        for name, value in fields.items():
            element = self.await_element(f'dialog [name="{name}"]')
            if isinstance(value, bool):
                if element.is_selected() != value:
                    element.click()
            elif element.tag_name == "select":
                Select(element).select_by_value(value)
            else:
                element.clear()
                element.send_keys(value)

    def become_administrator(self):
        self.driver.switch_to.default_content()
        self.until(unless_replaced(lambda: self.press_text("Administrative access") or self.press_text("Limited access")), "the switch of the shell")
        password = self.await_visible("input[type=password]")
        password.send_keys(PASSWORD)
        self.until(unless_replaced(lambda: self.press_text("Authenticate")), "the button of the password")
        self.driver.switch_to.default_content()
        self.until(lambda: not self.elements("input[type=password]"), "the end of the question")
        self.until(unless_replaced(lambda: self.press_text("Close") or True), "a button")
        self.enter_page()

    def press_text(self, text):
        for button in self.elements("button"):
            if button.is_displayed() and text in button.text:
                button.click()
                return True
        return False

    def errors(self):
        """Returns the errors in the browser's console, without those of Cockpit's shell."""
        return [entry["message"] for entry in self.driver.get_log("browser")
                if entry["level"] == "SEVERE" and "/genv/" in entry["message"]]

    def resize(self, width, height):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                    {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def dark(self, isDark):
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia",
                                    {"features": [{"name": "prefers-color-scheme", "value": "dark" if isDark else "light"}]})

    def picture(self, path):
        self.driver.save_screenshot(str(path))
