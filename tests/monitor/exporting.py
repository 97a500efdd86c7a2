# SPDX-License-Identifier: LGPL-2.1-or-later
"""Shared parts of the exporter's tests: the exporter as a user starts it, a Prometheus of the test that scrapes it, and
the parsing of their output."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "client"))

from bus_scenario import AS_USER, BUS_FOLDER, DEADLINE_SECONDS, programs  # noqa: E402
from waiting import until  # noqa: E402

LABEL = re.compile(r'([a-zA-Z_]+)="((?:[^"\\]|\\.)*)",?')
ESCAPES = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}

# Ignores any proxy of the machine.
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def get(url, method="GET", headers=None):
    """Returns the status, content type and text of a page."""
    try:
        with OPENER.open(urllib.request.Request(url, method=method, headers=headers or {}), timeout=DEADLINE_SECONDS) as answer:
            return answer.status, answer.headers["Content-Type"], answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers["Content-Type"], error.read().decode()


def key(labels):
    return frozenset(labels.items())


def parsed(text):
    """Maps each metric name to its labels and values."""
    metrics = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        name, labels, value = re.fullmatch(r"([a-z_]+)(?:\{(.*)\})? (\S+)", line).groups()
        labels = {found: re.sub(r"\\.", lambda escape: ESCAPES[escape[0]], text)
                  for found, text in LABEL.findall(labels or "")}
        series = metrics.setdefault(name, {})
        assert key(labels) not in series, f"twice: {line}"
        series[key(labels)] = float(value)
    return metrics


class Exporter:
    """A genvctl monitor of a user, on a free port."""

    def __init__(self, test, user, *options, folder=None, port="0", before=(), **variables):
        """`folder` is the folder for the files: a new one if it is unset. With "" and a port of None, the options are
        left out. `before` are words before the command's name, such as those of genvctl remote."""
        self.folder = folder
        if folder is None:
            above = tempfile.mkdtemp(dir=BUS_FOLDER)
            os.chmod(above, 0o755)
            shutil.chown(above, user)
            self.folder = os.path.join(above, "metrics")
        if self.folder:
            options = ("--config-dir", self.folder, *options)
        assignments = [f"{name}={value}" for name, value in variables.items()]
        if port is not None:
            options = ("--port", port, *options)
        command = ["env", *assignments, programs["genvctl"], *before, "monitor", *options]
        self.process = subprocess.Popen(command if user == "root" else [AS_USER, user, *command],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        test.addCleanup(self.stop)
        said = [self.process.stdout.readline() for _ in range(3)]
        if not said[-1]:
            raise AssertionError(f"the exporter ended: {self.process.stderr.read()}")
        self.said = "".join(said)
        self.url = re.search(r"http://\S+/metrics", self.said).group(0)
        self.target = self.url.removeprefix("http://").removesuffix("/metrics")

    def text(self):
        status, _, text = get(self.url)
        assert status == 200, text
        return text

    def scrape(self):
        return parsed(self.text())

    def stop(self):
        """Stops it and asserts that it exits cleanly. Returns its standard error."""
        if self.process is None:
            return None
        self.process.terminate()
        _, err = self.process.communicate(timeout=DEADLINE_SECONDS)
        status, self.process = self.process.returncode, None
        assert status == 0, err
        return err


class Prometheus:
    """A real Prometheus, with the configuration that the exporter wrote."""

    def __init__(self, test, user, config):
        data = tempfile.mkdtemp(dir=BUS_FOLDER)
        shutil.chown(data, user)
        with socket.create_server(("127.0.0.1", 0)) as free:
            address = f"127.0.0.1:{free.getsockname()[1]}"
        # By default it looks for new targets every 5 s.
        self.process = subprocess.Popen(
            [AS_USER, user, "prometheus", f"--config.file={config}", f"--storage.tsdb.path={data}",
             f"--web.listen-address={address}", "--scrape.discovery-reload-interval=100ms", "--log.level=warn"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        test.addCleanup(self.stop)
        self.url = f"http://{address}/api/v1/"
        until(self.is_ready, "Prometheus")

    def stop(self):
        self.process.terminate()
        self.process.communicate(timeout=DEADLINE_SECONDS)

    def is_ready(self):
        if self.process.poll() is not None:
            raise AssertionError(f"Prometheus ended: {self.process.stderr.read()}")
        try:
            return get(self.url.replace("/api/v1/", "/-/ready"))[0] == 200
        except OSError:
            return False

    def ask(self, what, **arguments):
        status, _, text = get(self.url + what + "?" + urllib.parse.urlencode(arguments))
        assert status == 200, text
        return json.loads(text)["data"]

    def query(self, expression):
        """Maps labels, without those of the scrape, to values."""
        found = {}
        for row in self.ask("query", query=expression)["result"]:
            labels = {name: text for name, text in row["metric"].items() if name not in ("__name__", "instance", "job")}
            assert key(labels) not in found, f"twice: {row}"
            found[key(labels)] = float(row["value"][1])
        return found

    def alert_expressions(self):
        groups = self.ask("rules", type="alert")["groups"]
        for group in groups:
            for rule in group["rules"]:
                assert rule["health"] != "err", rule
        return {rule["name"]: rule["query"] for group in groups for rule in group["rules"]}
