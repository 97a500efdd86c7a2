# SPDX-License-Identifier: LGPL-2.1-or-later
"""Isolation: the users who can open a GPU's node, by every way to start a program, and the effect of restarts, failures
and removals.

The nodes have no driver, so an open that the kernel permits fails with ENXIO, and one that it refuses with EPERM.
"""

import json
import os
import re

import scenario
import ways_in
from machine import HERE, PASSWORD
from scenario import Background, MachineTest, await_that
from upgrade import next_packages, version

MOUNT_PINS = "mount -t bpf -o mode=700 bpf /sys/fs/bpf"
NODES = {"/dev/nvidia0": (195, 0), "/dev/nvidia1": (195, 1), "/dev/nvidiactl": (195, 255)}
GPUS = list(NODES)[:2]
HOLDER = "ENXIO EPERM ENXIO"  # of GPU 0
STRANGER = "EPERM EPERM ENXIO"
EVERYTHING = "ENXIO ENXIO ENXIO"
PINS = "/sys/fs/bpf/genv"
LOADER = "genv-isolation.service"
MANAGER = ["dev.genv.Manager", "/dev/genv/Manager", "dev.genv.Manager"]
UNIT = """\
[Unit]
StartLimitIntervalSec=0

[Service]
Environment=GENV_MOCK_DEVICE_COUNT=2 GENV_MOCK_DEVICE_NODES=195:0,195:1
RestartSec=10ms
"""
UNIT_FILE = "/etc/systemd/system/genvd.service.d/test-isolation.conf"
SETTINGS_FILE = "/etc/genv/genvd.conf.d/test-isolation.conf"
KILLS = 100 if os.environ.get("GENV_TEST_FULL") == "1" else 25
# Each kill takes a third of a second on an idle machine.
KILLS_SECONDS = 600
# The sentence at bob's prompt about a GPU of alice's.
REFUSAL = re.compile(r"genv: (process \d+ \(\w+\)|one of your processes) was refused GPU 0, which you do not hold; "
                     r'others hold it: "genv attach --index 0 --wait" waits for it')


class Isolated(MachineTest):
    """Two GPUs with nodes, isolation by user, and alice, who holds GPU 0 in a shell."""

    def setUp(self):
        super().setUp()
        self.machine = scenario.machine
        ways_in.prepare(NODES)
        self.addCleanup(ways_in.remove, NODES)
        self.machine.write(UNIT_FILE, UNIT)
        self.machine.must(["systemctl", "daemon-reload"])
        self.addCleanup(self.without_isolation)
        self.settings("Isolation=user")
        self.machine.must(["systemctl", "restart", "genvd"])
        self.assert_in_force("user")
        self.alice = self.shell("alice")
        self.ok(self.alice.run("genv activate --gpus 0"))
        self.ok(self.alice.run("genv attach --index 0"))

    def without_isolation(self):
        self.settings("Isolation=none")
        self.machine.must(["rm", UNIT_FILE, SETTINGS_FILE])
        self.machine.must(["systemctl", "daemon-reload"])
        self.machine.must(["systemctl", "restart", "genvd"])

    def settings(self, *lines):
        """Does what an administrator does to configure isolation."""
        self.machine.write(SETTINGS_FILE, "\n".join(["[Enforcement]", "Interval=1s", "[Isolation]", *lines, ""]))
        self.restart_loader()
        self.machine.must(["systemctl", "reload-or-restart", "genvd"])

    def restart_loader(self):
        # systemd limits starts to 5 in ten seconds.
        self.machine.must(["systemctl", "reset-failed", LOADER])
        self.machine.must(["systemctl", "restart", LOADER])

    def called(self, *call):
        """Returns the result of a method of the manager, if any."""
        out = self.machine.must(["busctl", "--json=short", "call", *MANAGER, *call])
        return json.loads(out)["data"] if out.strip() else []

    def described(self):
        [about] = self.called("DescribeIsolation")
        return {name: value["data"] for name, value in about.items()}

    def assert_in_force(self, mode):
        await_that(f"isolation in mode {mode}", lambda: self.described()["mode"] == mode)
        self.assertEqual(self.machine.must(["busctl", "get-property", *MANAGER, "Isolation"]), f's "{mode}"\n')

    def grants(self):
        """Returns the grants to users in the kernel: (node, uid)."""
        lines = self.machine.must([ways_in.OPEN, "--grants", f"{PINS}/grants"]).splitlines()
        found = {tuple(line.split()) for line in lines}
        return {(node, int(uid)) for node, uid in found if int(uid) != 0xFFFFFFFF}

    def held_nodes(self):
        """Returns the same according to genvd's list of holders."""
        uids = {row[0]: row[1] for row in self.called("ListEnvironments")[0]}
        return {(f"195:{device}", uids[eid]) for device, eid, *_ in self.called("ListAttachments")[0]}

    def opened(self, command, typed=None):
        """Returns the results of a command's opens."""
        done = self.machine.run(command, typed)
        return done.out.strip() or str(done)

    def assert_opens(self, expected, command, typed=None):
        self.assertEqual(self.opened(command, typed), expected)

    def assert_stranger(self, expected=STRANGER):
        self.assert_opens(expected, ways_in.session("bob", [ways_in.OPEN, *NODES]))

    def assert_holder(self, expected=HOLDER):
        self.assert_opens(expected, ways_in.session("alice", [ways_in.OPEN, *NODES]))

    def watch(self, user, node, word, *prefix):
        """Runs opens of a user's in parallel with the test, which must all end with the word."""
        watcher = Background(self, ways_in.session(user, [*prefix, "nice", ways_in.OPEN, "--watch", node, word]))
        self.assertEqual(watcher.line(), "began\n")
        return watcher

    def watch_all(self):
        return [self.watch("alice", GPUS[0], "ENXIO"), self.watch("bob", GPUS[0], "EPERM"),
                self.watch("alice", GPUS[0], "ENXIO", *ways_in.SUBORDINATE)]

    def assert_none_wrong(self, watchers):
        for watcher in watchers:
            status, out, err = watcher.finish()
            print(f"    {out.strip()}")
            self.assertEqual((status, err), (0, ""), out)
            self.assertRegex(out, "^[1-9][0-9]* opens, 0 wrong\n$")

    def log_since(self, since, *units):
        self.machine.must(["journalctl", "--sync"])
        return "\n".join(record["MESSAGE"] for unit in units
                         for record in self.machine.journal(f"--since={since}", f"--unit={unit}"))

    def now(self):
        return self.machine.must(["date", "+@%s.%N"]).strip()

    def remove(self, how):
        names = self.machine.must("dpkg-query --show --showformat='${Package}\\n' '*genv*' | sort -u").split()
        self.machine.must(["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "--yes", "--quiet",
                           "--option=Dpkg::Use-Pty=0", how, *names])


class Isolation(Isolated):
    def test_every_way_in_for_a_holder_and_a_stranger(self):
        jobs = ways_in.Jobs(NODES, ways_in.UIDS)
        self.addCleanup(jobs.remove)
        for user, expected in (("alice", HOLDER), ("bob", STRANGER)):
            for way, command in ways_in.of_user(user, NODES).items():
                with self.subTest(f"{user}: {way}"):
                    self.assert_opens(expected, command)
            with self.subTest(f"{user}: sudo"):
                self.assert_opens(expected, ways_in.sudo(user, NODES), f"{PASSWORD}\n")
            for daemon in ("cron", "at"):
                with self.subTest(f"{user}: {daemon}"):
                    self.assertEqual(jobs.ended(user, daemon).strip(), expected)

    def test_every_way_in_for_root_and_for_nobody(self):
        jobs = ways_in.Jobs(NODES, ["root"])
        self.addCleanup(jobs.remove)
        for way, command in ways_in.of_root(NODES).items():
            with self.subTest(way):
                self.assert_opens(EVERYTHING, command)
        with self.subTest("sudo"):
            self.assert_opens(EVERYTHING, ways_in.sudo("root", NODES), f"{PASSWORD}\n")
        for daemon in ("cron", "at"):
            with self.subTest(f"root: {daemon}"):
                self.assertEqual(jobs.ended("root", daemon).strip(), EVERYTHING)
        for way, command in ways_in.of_nobody(NODES).items():
            with self.subTest(way):
                self.assert_opens(STRANGER, command)

    def test_a_person_with_a_uid_of_a_service_is_no_service(self):
        """systemd gives 61184 to 65519 to services with DynamicUser=, and an administrator gave one to erin."""
        self.machine.must(["useradd", "--uid=62000", "--user-group", "--create-home", "erin"])
        self.addCleanup(self.machine.must, ["userdel", "--force", "--remove", "erin"])
        session = ways_in.unit([ways_in.OPEN, *NODES], "User=erin", "PAMName=login")
        await_that("PID 1's answer about erin", lambda: self.opened(session) == STRANGER)
        self.assertIn("Exempt: root, uids 1-999, uids 61184-61999, uids 62001-65519.",
                      " ".join(self.machine.must(["genvctl", "doctor"]).split()))
        self.assert_opens(EVERYTHING, ways_in.unit([ways_in.OPEN, *NODES], "DynamicUser=yes"))
        self.machine.must(["systemctl", "restart", "genvd"])
        self.restart_loader()
        self.assert_opens(STRANGER, session)

    def test_a_node_that_a_user_makes_by_a_setuid_program_is_closed(self):
        mknod, node = "/usr/local/sbin/test-mknod", "/dev/nvidia9"
        self.machine.must(f"cp /usr/bin/mknod {mknod} && chmod 4755 {mknod}")
        self.addCleanup(self.machine.must, ["rm", "-f", mknod, node])
        # As nvidia-modprobe does: creating a node is not refused.
        self.machine.must(ways_in.session("bob", [mknod, "--mode=666", node, "c", "195", "9"]))
        self.assert_opens("EPERM", ways_in.session("alice", [ways_in.OPEN, node]))
        other = "/dev/another-nvidia0"
        self.addCleanup(self.machine.must, ["rm", "-f", other])
        self.machine.must(ways_in.session("bob", [mknod, "--mode=666", other, "c", "195", "0"]))
        self.assert_opens("EPERM", ways_in.session("bob", [ways_in.OPEN, other]))

    def test_who_is_refused_reads_why_and_the_history_has_it(self):
        bob = self.shell("bob")
        self.ok(bob.run("genv activate --gpus 0"))
        since = float(self.now()[1:]) * 1_000_000
        before = self.refused_opens("bob").get("GPU 0", 0)
        for command, message in (("exec 3<>/dev/nvidia0", "/dev/nvidia0: Operation not permitted"),
                                 ("env --ignore-environment cat /dev/nvidia0", "/dev/nvidia0: Operation not permitted"),
                                 ("env --unset=CUDA_VISIBLE_DEVICES python3 -c 'open(\"/dev/nvidia0\")'",
                                  "PermissionError: [Errno 1] Operation not permitted: '/dev/nvidia0'")):
            self.refused(bob.run(f"({command})"), 1, message)
        self.assertEqual(self.refused_opens("bob")["GPU 0"], before + 3)
        # Refusals from before genvd's first reading cause no notice, so bob tries until the prompt has it.
        await_that("the sentence at bob's prompt", lambda: REFUSAL.search(self.prompt_after_an_open(bob)))
        await_that("a record of it", lambda: [
            event for event in self.lines("history", "--kind", "open-refused")
            if (event["user"], event["devices"]) == ("bob", [0]) and event["time"] > since])

    @staticmethod
    def prompt_after_an_open(shell):
        shell.run("(exec 3<>/dev/nvidia0)")
        prompt = shell.run('eval "$PROMPT_COMMAND"')
        return prompt.out + prompt.err

    def test_a_gpu_is_open_from_its_grant_to_its_return(self):
        bob = self.shell("bob")
        self.ok(bob.run("genv activate --gpus 0"))
        for _ in range(3):
            self.ok(bob.run("genv attach --index 1"))
            self.assert_stranger("EPERM ENXIO ENXIO")
            self.assertEqual(self.grants(), {("195:0", 1001), ("195:1", 1002)})
            self.ok(bob.run("genv detach --index 1"))
            self.assert_stranger()
        self.assertEqual(self.opened(ways_in.session(
            "bob", ["genvctl", "run", "--gpus", "1", "--", ways_in.OPEN, *NODES])), "EPERM ENXIO ENXIO")
        await_that("the end of what ran", lambda: self.held_nodes() == {("195:0", 1001)})
        self.assert_stranger()
        self.alice.close()
        await_that("the end of alice's environment", lambda: self.held_nodes() == set())
        self.assert_holder(STRANGER)
        self.assertEqual(self.grants(), set())

    def test_systemd_reloads_and_nobody_notices(self):
        watchers = self.watch_all()
        for _ in range(10):
            self.machine.must(["systemctl", "daemon-reload"])
        self.machine.must(["systemctl", "daemon-reexec"])
        for verb in ("stop", "start"):
            self.machine.must(["systemctl", verb, LOADER])
            self.machine.must(["systemctl", "daemon-reload"])
        self.assert_none_wrong(watchers)

    def test_services_restart_and_nobody_notices(self):
        watchers = self.watch_all()
        for _ in range(3):
            self.restart_loader()
            self.machine.must(["systemctl", "restart", "genvd"])
        self.machine.must(["systemctl", "kill", "--signal=SIGKILL", "genvd"])
        # A call may still reach the service that is being killed.
        await_that("genvd answers again", lambda: self.machine.run(["genvctl", "devices"]).status == 0)
        self.assert_none_wrong(watchers)
        self.assertEqual(self.grants(), {("195:0", 1001)})
        self.assert_in_force("user")

    def test_kills_between_grant_and_reply(self):
        with open(os.path.join(HERE, "kill_at_grants.py"), encoding="utf-8") as script:
            told = self.machine.must(["python3", "-", ways_in.OPEN, f"{PINS}/grants", "1001", str(KILLS)], script.read(),
                                     KILLS_SECONDS)
        print(f"    {told.strip()}")
        self.assert_holder()
        self.assert_stranger()

    def test_watching_counts_and_refuses_nothing(self):
        refused = self.refused_opens("bob")
        self.settings("Isolation=watch")
        self.assert_in_force("watch")
        before = self.refused_opens("bob")
        self.assert_stranger(EVERYTHING)
        self.assert_holder(EVERYTHING)
        self.assertEqual(self.refused_opens("bob"), {node: before.get(node, 0) + 1 for node in ("GPU 0", "GPU 1")})
        self.settings("Isolation=user")
        self.assert_in_force("user")
        self.assert_stranger()
        self.assertEqual(self.refused_opens("bob"), {node: refused.get(node, 0) + 1 for node in ("GPU 0", "GPU 1")},
                         "opens that were only watched do not count")

    def refused_opens(self, user):
        """Maps each node to the number of refusals of the user there."""
        uid = ways_in.UIDS[user]
        [rows] = self.called("ListRefusedOpens", "a{sv}", "1", "all", "b", "true")
        return {row[2]: row[3] for row in rows if row[0] == uid}

    def test_the_documented_commands_take_effect_at_once(self):
        for mode in ("none", "user", "watch"):
            self.machine.write(SETTINGS_FILE, f"[Isolation]\nIsolation={mode}\n")
            done = self.machine.run(f"systemctl restart {LOADER} && systemctl reload genvd && genvctl isolation status")
            self.assertEqual(done.status, 0, done)
            self.assertEqual(self.described()["mode"], mode)

    def test_an_administrator_suspends_it_until_it_is_resumed(self):
        self.called("SuspendIsolation", "b", "true")
        self.assert_in_force("none")
        self.assert_stranger(EVERYTHING)
        for restart in (self.restart_loader, lambda: self.machine.must(["systemctl", "restart", "genvd"])):
            restart()  # as an upgrade does
            self.assert_stranger(EVERYTHING)
        self.assertTrue(self.described()["suspended"])
        self.called("SuspendIsolation", "b", "false")
        self.assert_in_force("user")
        self.assert_stranger()
        self.assert_holder()

    def test_removing_the_pins_by_hand_opens_and_is_told(self):
        since = self.now()
        self.machine.must(["rm", "-r", PINS])
        self.assert_stranger(EVERYTHING)
        self.assert_in_force("none")
        self.assertIn(LOADER, self.described()["trouble"])
        self.assertIn("isolation is not in force", self.log_since(since, "genvd.service"))
        self.restart_loader()
        self.assert_in_force("user")
        self.assert_holder()
        self.assert_stranger()

    def test_a_configuration_that_is_wrong_changes_nothing_and_is_told(self):
        for line, what in (("IsolationExempt=", "empty value"),
                           ("IsolationExempt=nobody-of-that-name", "nobody-of-that-name"),
                           ("Isolation=users", "expected none, watch or user"),
                           ("IsolationOpenDevices=0", "invalid UUID")):
            with self.subTest(line):
                since = self.now()
                self.machine.write(SETTINGS_FILE, f"[Enforcement]\nInterval=1s\n[Isolation]\nIsolation=user\n{line}\n")
                self.machine.must(["systemctl", "reset-failed", LOADER])
                restarted = self.machine.run(["systemctl", "restart", LOADER])
                self.machine.run(["systemctl", "reload", "genvd"])
                told = self.log_since(since, LOADER, "genvd.service")
                self.assertIn(what, told, restarted)
                self.assert_holder()
                self.assert_stranger()

    def test_an_upgrade_leaves_no_gap_and_a_removal_nothing(self):
        watchers = self.watch_all()
        done = self.machine.install(next_packages(f"{version()}+isolation"))
        self.assertEqual(done.status, 0, done)
        self.assert_none_wrong(watchers)
        self.assert_in_force("user")
        self.assertEqual(self.grants(), {("195:0", 1001)})
        self.remove("remove")
        self.assert_stranger(EVERYTHING)
        self.assertNotEqual(self.machine.run(["ls", PINS]).status, 0)
        self.remove("purge")
        self.assertEqual(self.machine.must(["systemctl", "--failed", "--no-legend"]), "")
        MachineTest.setUp(self)  # installs them again
        self.machine.must(["systemctl", "restart", "genvd"])

    def test_a_start_without_a_bpf_file_system_is_loud(self):
        self.machine.write("/etc/systemd/system/no-bpf.service", NO_BPF)
        self.machine.must(["systemctl", "enable", "no-bpf"])
        self.addCleanup(self.machine.must, ["sh", "-c", "systemctl disable no-bpf; rm /etc/systemd/system/no-bpf.service"])
        since = self.now()
        self.addCleanup(self.machine.must, f"mountpoint --quiet /sys/fs/bpf || {MOUNT_PINS}")
        self.machine.reboot()
        ways_in.prepare(NODES)  # the nodes disappeared with the machine's /dev
        self.assert_stranger(EVERYTHING)
        self.assert_in_force("none")
        self.assertEqual(self.described()["wanted"], "user")
        self.assertIn("no BPF file system is mounted", self.described()["trouble"])
        self.assertIn("isolation: no BPF file system is mounted", self.log_since(since, "genvd.service"))
        self.assertIn("GPUs are not isolated: every user can open every GPU", self.log_since(since, LOADER))
        # The administrator's next step.
        self.machine.must(MOUNT_PINS)
        self.restart_loader()
        self.assert_in_force("user")
        self.assert_stranger()


NO_BPF = f"""\
[Unit]
DefaultDependencies=no
Before={LOADER}

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=umount /sys/fs/bpf

[Install]
RequiredBy={LOADER}
"""
