# SPDX-License-Identifier: LGPL-2.1-or-later
"""Activation by name, and a complete tour of genv's features, by users who have logged in over SSH."""

import re
import signal

import scenario
from scenario import MachineTest, await_that


class Activation(MachineTest):
    def test_the_first_call_starts_the_service_and_polkit(self):
        machine = scenario.machine
        machine.must(["systemctl", "stop", "genvd.service", "polkit.service"])
        self.assertEqual(machine.unit("ActiveState"), "inactive")
        alice = self.shell("alice")
        devices = self.ok(alice.run("genvctl devices")).splitlines()
        self.assertEqual(devices[0].split()[:6], ["ID", "ENV", "ID", "ENV", "NAME", "ATTACHED"])
        self.assertEqual([line.split()[0] for line in devices[1:]], ["0", "1", "2", "3"])
        self.assertEqual(machine.unit("ActiveState"), "active")
        machine.must(["systemctl", "stop", "polkit.service"])
        self.assertEqual(self.ok(alice.run("genvctl run --gpus 1 -- printenv CUDA_VISIBLE_DEVICES")), "0\n")
        self.assertEqual(machine.unit("ActiveState", name="polkit.service"), "active")

    def test_it_runs_as_the_unit_says(self):
        machine = scenario.machine
        machine.must(["genvctl", "devices"])
        unit = machine.unit("Type", "BusName", "NRestarts", "ControlGroup", "StatusText", "WatchdogUSec")
        self.assertEqual((unit["Type"], unit["BusName"]), ("notify", "dev.genv.Manager"))
        self.assertEqual(unit["ControlGroup"], "/system.slice/genvd.service")
        self.assertNotIn(unit["WatchdogUSec"], ("0", "infinity"))
        self.assertEqual(machine.must(["systemctl", "--failed", "--no-legend"]), "")


class Tour(MachineTest):
    def test_alice_takes_bob_is_refused_and_they_share(self):
        alice, bob = self.shell("alice"), self.shell("bob")
        self.ok(alice.run("genv activate --gpus 2 --name training"))
        self.assertEqual(alice.variable("CUDA_VISIBLE_DEVICES"), "0,1")
        self.assertEqual(alice.variable("CUDA_DEVICE_ORDER"), "PCI_BUS_ID")
        status = self.ok(alice.run("genv status"))
        self.assertRegex(status, r"^Environment is active \(\d+\)\nAttached to GPUs at indices 0,1\n")
        self.assertIn("Name: training\n", status)
        eid = alice.variable("GENV_ENVIRONMENT_ID")

        self.ok(bob.run("genv activate"))
        self.refused(bob.run("genv attach --index 0"), 5, "alice holds it")
        self.refused(bob.run("genv attach --count 3"), 5, "GPU")
        self.ok(bob.run("genv attach --count 2"))
        self.assertEqual(bob.variable("CUDA_VISIBLE_DEVICES"), "2,3")
        bobs = bob.variable("GENV_ENVIRONMENT_ID")
        self.assertEqual(self.holders(), {0: [eid], 1: [eid], 2: [bobs], 3: [bobs]})
        self.refused(bob.run(f"genvctl --no-ask-password devices detach --eid {eid} --index 0"), 4, "")

        self.refused(bob.run("genvctl --no-ask-password attach --index 0 --over-subscribe"), 4, "ask alice to run")
        self.ok(alice.run("genv config --allow-over-subscribe"))
        self.ok(bob.run("genv attach --index 0 --over-subscribe"))
        self.assertEqual(sorted(self.holders()[0]), sorted([eid, bobs]))
        self.assertEqual(bob.variable("CUDA_VISIBLE_DEVICES"), "0,2,3")
        self.ok(bob.run("genv detach --index 0"))
        self.assertEqual(bob.variable("CUDA_VISIBLE_DEVICES"), "2,3")
        self.ok(alice.run("genv detach"))
        self.assertEqual(self.held(), [bobs])
        bob.close()
        await_that("the end of what bob held", lambda: self.held() == [])

    def test_an_administrators_detach_is_said_at_the_next_prompt(self):
        alice = self.shell("alice")
        self.ok(alice.run("genv activate --gpus 2"))
        scenario.machine.must(["genvctl", "devices", "detach", "--eid", alice.variable("GENV_ENVIRONMENT_ID"), "--index", "0"])
        prompt = alice.run('eval "$PROMPT_COMMAND"')
        self.assertIn("genv: GPU 0 was taken away by an administrator (root)", prompt.out + prompt.err)
        self.assertEqual(alice.variable("CUDA_VISIBLE_DEVICES"), "1")

    def test_a_command_has_an_environment_of_its_own_and_waits_for_its_turn(self):
        holder = self.hold("alice", "--gpus 4")
        self.assertEqual(len(self.held()), 1)
        waiter = self.background("bob", "genvctl run --gpus 2 --wait -- printenv CUDA_VISIBLE_DEVICES")
        self.assertRegex(waiter.complaint(), r"^genvctl: waiting for 2 GPUs, number 1 of 1 in the queue: ")
        self.assertEqual(self.queue(), ["bob"])
        self.assertEqual(holder.finish()[0], 0)
        self.assertEqual(waiter.finish()[:2], (0, "0,1\n"))

    def test_limits_refuse_and_say_the_number(self):
        self.configure("[Limits]\nMaxDevicesPerUser=1\n[User bob]\nMaxDevicesPerUser=3\n")
        alice, bob = self.shell("alice"), self.shell("bob")
        self.refused(alice.run("genvctl run --gpus 2 -- true"), 7, "MaxDevicesPerUser")
        self.ok(alice.run("genvctl run --gpus 1 -- true"))
        self.ok(bob.run("genvctl run --gpus 3 -- true"))
        self.assertRegex(self.ok(alice.run("genvctl limits")), r"\nMaxDevicesPerUser +1 +0\n")

    def test_a_process_outside_environments_is_ended_and_one_inside_is_not(self):
        scenario.machine.must(["cp", "/usr/bin/sleep", "/usr/local/bin/gpu-work"])
        self.addCleanup(scenario.machine.must, ["rm", "/usr/local/bin/gpu-work"])
        alice, carol = self.shell("alice"), self.shell("carol")
        self.ok(alice.run("genv activate --gpus 4"))
        inside = int(alice.run("gpu-work infinity & echo $!").out)
        outside = int(carol.run("gpu-work infinity & echo $!").out)
        self.addCleanup(scenario.machine.run, ["kill", str(inside), str(outside)])
        self.configure("[Enforcement]\nInterval=1s\nGrace=1s\nNonEnvProcesses=yes\n")
        self.assertEqual(carol.run(f"wait {outside}").status, 128 + signal.SIGTERM)
        self.assertEqual(alice.run(f"kill -0 {inside}").status, 0)
        records = scenario.machine.journal("GENV_EVENT=process-terminated", f"GENV_PID={outside}")
        self.assertEqual([record["GENV_USER"] for record in records], ["carol"])
        self.assertEqual([record["GENV_COMMAND"] for record in records], ["gpu-work"])

    def test_a_lease_ends(self):
        holder = self.hold("alice", "--gpus 1 --lifetime 3s")
        await_that("the lease's end", lambda: self.held() == [])
        self.assertEqual(holder.process.poll(), None)
        holder.finish()

    def test_a_lock_is_one_mans_at_a_time_and_ends_with_him(self):
        alice, bob = self.shell("alice"), self.shell("bob")
        for shell in (alice, bob):
            self.ok(shell.run("genv activate --gpus 1 --over-subscribe --allow-over-subscribe"))
        aid, bid = (shell.variable("GENV_ENVIRONMENT_ID") for shell in (alice, bob))
        self.ok(bob.run("genv attach --index 0 --over-subscribe"))
        first = self.background("alice", f"GENV_ENVIRONMENT_ID={aid} genvctl lock -- sh -c 'echo locked; exec cat'")
        self.assertEqual(first.line(), "locked\n")
        second = self.background("bob", f"GENV_ENVIRONMENT_ID={bid} genvctl lock -- echo mine")
        self.assertIn("wait", second.complaint())
        self.assertEqual(first.finish()[0], 0)
        self.assertEqual(second.finish()[:2], (0, "mine\n"))

    def test_shells_activate_as_people_set_them_up(self):
        """Opens an interactive shell on a terminal, with the set-up in its own file, as README says."""
        scenario.machine.write("/home/alice/.bashrc", f"PS1='>>> '\n{scenario.SETUP}\n")
        terminal = scenario.machine.ssh_terminal("alice", "exec bash -i")
        terminal.expect(rb"/dev/pts/\d+")
        terminal.expect(rb">>> ")
        terminal.type("genv activate --gpus 1 --name mine && echo GPU=$CUDA_VISIBLE_DEVICES")
        terminal.expect(rb"\nGPU=0")
        self.assertTrue(re.search(r"\([^)]*\) >>> ", terminal.expect(rb">>> ")))
        terminal.type("exit")
        terminal.finish()
        await_that("the end of the environment", lambda: self.held() == [])
