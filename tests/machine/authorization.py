# SPDX-License-Identifier: LGPL-2.1-or-later
"""polkit with logind: users at the machine itself, users who have logged in over SSH, and an administrator's password.
"""

import re

import scenario
from machine import PASSWORD
from scenario import MachineTest, await_that

WHO_SITS_HERE = """
polkit.addRule(function(action, subject) {
    if (action.id == "dev.genv.manager.manage-others" && subject.local && subject.active)
        return polkit.Result.YES;
});
"""
POLICY = "/usr/share/polkit-1/actions/dev.genv.manager.policy"


class Sessions(MachineTest):
    def test_logind_knows_both_kinds_of_session(self):
        shells = {"yes": self.shell("alice"), "no": self.console("bob")}
        for remote, shell in shells.items():
            out = self.ok(shell.run('loginctl show-session "$XDG_SESSION_ID" --property=Remote --property=Active '
                                    '--property=Seat'))
            values = dict(line.split("=", 1) for line in out.splitlines())
            self.assertEqual(values, {"Remote": remote, "Active": "yes", "Seat": "seat0" if remote == "no" else ""})

    def test_a_rule_tells_who_sits_here_from_who_has_logged_in(self):
        self.rule(WHO_SITS_HERE)
        alice, remote, local = self.shell("alice"), self.shell("bob"), self.console("bob")
        self.ok(alice.run("genv activate --gpus 2"))
        eid = alice.variable("GENV_ENVIRONMENT_ID")
        command = f"genvctl --no-ask-password devices detach --eid {eid} --index"
        self.refused(remote.run(f"{command} 0"), 4, "")
        self.assertEqual(self.held(), [eid])
        self.ok(local.run(f"{command} 0"))
        # A process without a session is not local either.
        self.refused(scenario.machine.as_user("bob", f"{command} 1"), 4, "")
        self.assertEqual(self.holders()[1], [eid])

    def test_the_defaults_of_an_action_are_those_of_the_session(self):
        """A site's policy file: no for any, no for inactive, yes for active sessions."""
        machine = scenario.machine
        kept = machine.read(POLICY)
        begin = kept.index('<action id="dev.genv.manager.attach">')
        end = kept.index("</action>", begin)
        changed = re.sub(r"<allow_(any|inactive)>yes<", r"<allow_\1>no<", kept[begin:end])
        self.assertNotEqual(changed, kept[begin:end])

        def write(text):
            machine.write(POLICY, text)
            machine.restart_polkit()
        self.addCleanup(write, kept)
        write(kept[:begin] + changed + kept[end:])
        remote, local = self.shell("alice"), self.console("alice")
        self.refused(remote.run("genvctl run --gpus 1 -- true"), 4, "")
        self.ok(remote.run("genvctl run --gpus 0 -- true"))
        self.ok(local.run("genvctl run --gpus 1 -- true"))

    def test_everybody_manages_their_own_in_any_session_or_none(self):
        line = "genvctl run --gpus 1 -- printenv CUDA_VISIBLE_DEVICES"
        self.assertEqual(self.ok(self.shell("alice").run(line)), "0\n")
        self.assertEqual(self.ok(self.console("alice").run(line)), "0\n")
        self.assertEqual(self.ok(scenario.machine.as_user("alice", line)), "0\n")


class Password(MachineTest):
    """pkttyagent, which genvctl starts on the terminal, and Debian's rule that members of the group sudo are
    administrators."""

    def setUp(self):
        super().setUp()
        self.alice = self.shell("alice")
        self.ok(self.alice.run("genv activate --gpus 1"))
        self.eid = self.alice.variable("GENV_ENVIRONMENT_ID")
        self.command = f"genvctl devices detach --eid {self.eid} --index 0"

    def asked(self, user, password):
        """Runs the command as a user on a terminal who types this when asked. Returns its status and its output."""
        terminal = scenario.machine.ssh_terminal(user, f"{self.command}; echo status=$?")
        tty = re.search(r"/dev/pts/\d+", terminal.expect(rb"/dev/pts/\d+\r\n")).group()
        seen = terminal.expect(rb"Password: ")
        terminal.await_hidden_typing(tty)
        terminal.type(password)
        seen += terminal.expect(rb"status=\d+")
        terminal.finish()
        self.assertNotIn(password, seen)
        return int(re.search(r"status=(\d+)", seen).group(1)), seen

    def test_a_wrong_password_is_refused_and_the_right_one_not(self):
        status, seen = self.asked("admin", "not-it")
        self.assertEqual(status, 4, seen)
        self.assertEqual(self.held(), [self.eid])
        status, seen = self.asked("admin", PASSWORD)
        self.assertEqual(status, 0, seen)
        self.assertIn("dev.genv.manager.manage-others", seen)
        self.assertIn(f"detach GPUs from environment {self.eid} of alice (GPU 0)", seen)
        self.assertEqual(self.held(), [])

    def test_an_administrator_may_type_it_on_anothers_terminal(self):
        status, seen = self.asked("bob", PASSWORD)
        self.assertEqual(status, 0, seen)
        self.assertRegex(seen, r"Authenticating as: .*admin")
        self.assertEqual(self.held(), [])

    def test_leaving_the_question_changes_nothing(self):
        terminal = scenario.machine.ssh_terminal("bob", f"{self.command}; echo status=$?")
        tty = re.search(r"/dev/pts/\d+", terminal.expect(rb"/dev/pts/\d+\r\n")).group()
        terminal.expect(rb"Password: ")
        terminal.await_hidden_typing(tty)
        terminal.send(b"\x03")
        self.assertNotIn("status=0", terminal.finish()[1])
        self.assertEqual(self.held(), [self.eid])

    def test_nobody_is_asked_who_does_not_want_to_be(self):
        output = self.shell("admin").run(f"genvctl --no-ask-password {self.command.removeprefix('genvctl ')}")
        self.refused(output, 4, "genvctl: ")
        # Nor is a caller without a terminal.
        self.refused(self.shell("admin").run(f"{self.command} </dev/null"), 4, "genvctl: ")
        self.assertEqual(self.held(), [self.eid])
        refused = await_that("the records of the refusals", lambda: scenario.machine.journal(
            "GENV_EVENT=refused", f"GENV_ENVIRONMENT={self.eid}"))
        self.assertEqual({record["GENV_CALLER_USER"] for record in refused}, {"admin"})
        self.assertEqual({record["GENV_ACTION"] for record in refused}, {"dev.genv.manager.manage-others"})

    def test_sudo_needs_no_polkit(self):
        admin = self.shell("admin")
        output = admin.run(f"echo {PASSWORD} | sudo --stdin --prompt= {self.command}")
        self.assertEqual(output.status, 0, output)
        self.assertEqual(self.held(), [])
