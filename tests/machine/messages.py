# SPDX-License-Identifier: LGPL-2.1-or-later
"""Messages on a machine: their user submits a job and logs out, and hears of its end by mail, a webhook and a command."""

import json

import scenario
from scenario import MachineTest, await_that

HOME = "/home/alice"
PORT = 8765
SENDMAIL = '#!/bin/sh\ncat >"$HOME/mail.new" && mv "$HOME/mail.new" "$HOME/mail"\n'
RECEIVER = f"""\
import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        print(self.path, self.rfile.read(int(self.headers["Content-Length"])).decode(), flush=True)
        self.send_response(204)
        self.end_headers()
    def log_message(self, *_):
        pass
server = http.server.HTTPServer(("127.0.0.1", {PORT}), Handler)
print("ready", flush=True)
server.serve_forever()
"""
CONFIGURATION = f"""\
[Mail]
To=alice@example.org
[Webhook]
Url=http://127.0.0.1:{PORT}/secret
Format=json
[Command]
Run=cat >{HOME}/told.new && mv {HOME}/told.new {HOME}/told
"""


class Messages(MachineTest):
    @staticmethod
    def has_session():
        # systemd 257 also lists the user's manager.
        sessions = scenario.machine.must(["loginctl", "list-sessions", "--no-legend"]).splitlines()
        return any("alice" in session and "manager" not in session for session in sessions)

    def test_a_job_s_end_is_told_after_the_logout(self):
        machine = scenario.machine
        names = [f"{HOME}/{name}" for name in ("mail", "told", "go", ".config/genv", ".local/state/genv")]
        self.addCleanup(machine.run, ["rm", "-rf", "/usr/sbin/sendmail", "/root/receiver.py", *names])
        self.addCleanup(machine.run, ["loginctl", "terminate-user", "alice"])
        machine.run(["loginctl", "terminate-user", "alice"])  # of earlier tests
        await_that("the end of former sessions", lambda: not self.has_session())
        machine.write("root/receiver.py", RECEIVER)
        machine.write("usr/sbin/sendmail", SENDMAIL, 0o755)
        receiver = self.background("root", "python3 /root/receiver.py")
        self.assertEqual(receiver.line(), "ready\n")

        alice = machine.ssh("alice")
        self.ok(alice.run(f"mkdir -p ~/.config/genv && umask 077 && cat >~/.config/genv/notify.conf <<'END'\n{CONFIGURATION}END"))
        self.assertEqual(self.ok(alice.run("genvctl notify test")),
                         "[Mail]: a test was sent\n[Webhook]: a test was sent\n[Command]: a test was sent\n")
        receiver.line()
        machine.must(["rm", f"{HOME}/mail", f"{HOME}/told"])
        job = self.ok(alice.run("genvctl submit --name night -- sh -c 'until test -e ~/go; do sleep 0.1; done; exit 3'")).strip()
        await_that("the job", lambda: "running" in alice.run(f"genvctl job {job}").out)
        await_that("genv-notify-core", lambda: alice.run("systemctl --user is-active genv-notify-core.service").out == "active\n")
        alice.close()
        await_that("the end of the session", lambda: not self.has_session())
        machine.must(["test", "-e", "/var/lib/systemd/linger/alice"])

        machine.must(["touch", f"{HOME}/go"])
        path, body = receiver.line().split(" ", 1)
        told = json.loads(body)["messages"][0]
        self.assertEqual((path, told["kind"], told["job"], told["status"]), ("/secret", "job-failed", int(job), "exit status 3"))
        mail = await_that("the mail", lambda: machine.run(["cat", f"{HOME}/mail"]).out)
        self.assertIn("To: alice@example.org\nSubject: ", mail)
        told = json.loads(await_that("the command", lambda: machine.run(["cat", f"{HOME}/told"]).out))["messages"][0]
        self.assertEqual((told["job"], told["name"]), (int(job), "night"))
        self.assertNotIn("/secret", machine.must(["journalctl", "--no-pager"]))
        # The submission made alice linger, and the end of that waited for the messages.
        await_that("a user who lingers no longer",
                   lambda: machine.run(["test", "-e", "/var/lib/systemd/linger/alice"]).status != 0)
