# SPDX-License-Identifier: LGPL-2.1-or-later
"""The services in their sandboxes: operations that must still work, operations that must fail, and the driver in a unit
of its own, with a stand-in for NVIDIA's library. The other tests cover the remaining needs of genv, since they run with
the same units."""

import json
import os
import re

import scenario
from scenario import Background, MachineTest, await_that

BUILD = os.environ.get("GENV_MACHINE_BUILD", "")
FAKE_NVML = os.path.join(BUILD, "tests", "fake_nvml", "current", "libnvidia-ml.so.1")
MANAGER = ["dev.genv.Manager", "/dev/genv/Manager"]

# Tries operations and prints the result of each; the argument is a process of alice's. A forbidden function of the C
# library is reported by its errno.
PROBE = r'''
import ctypes, errno, mmap, os, socket, stat, struct, sys
def say(name, act):
    try:
        act()
        print(name, "done")
    except OSError as error:
        print(name, errno.errorcode[error.errno])
def write(path):
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
    os.unlink(path)
def read(path):
    with open(path, "rb") as file:
        file.read(16)
pid = sys.argv[1]
for path in ("/etc/x", "/usr/x", "/var/x", "/run/x", "/root/x", "/run/genv/x"):
    say("write " + path, lambda: write(path))
say("mknod", lambda: os.mknod("/dev/shm/node", stat.S_IFCHR | 0o600, os.makedev(1, 3)))
for path in ("/dev/nvidia0", "/dev/kmsg", "/home/alice/private", "/proc/" + pid + "/environ", "/proc/" + pid + "/stat",
             "/proc/sys/kernel/core_pattern", "/proc/devices", "/dev/null", "/etc/subuid", "/etc/login.defs"):
    say("read " + path.replace(pid, "PID"), lambda: read(path))
for path in ("/proc/sys/vm/panic_on_oom", "/proc/sysrq-trigger"):
    say("change " + path, lambda: os.close(os.open(path, os.O_WRONLY)))  # and nothing is written
say("namespace", lambda: os.readlink("/proc/" + pid + "/ns/user"))
say("program", lambda: os.readlink("/proc/" + pid + "/exe"))
say("memory", lambda: os.close(os.open("/proc/" + pid + "/mem", os.O_RDWR)))
say("signal", lambda: os.kill(int(pid), 0))
for family in ("AF_UNIX", "AF_INET", "AF_INET6", "AF_NETLINK", "AF_PACKET"):
    say(family, lambda: socket.socket(getattr(socket, family), socket.SOCK_DGRAM).close())
say("become alice", lambda: os.setuid(1001))
say("chown", lambda: os.chown("/dev/shm", 1001, 1001))
say("executable memory", lambda: mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC).close())
say("realtime", lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)))
def make_map():
    library = ctypes.CDLL(None, use_errno=True)
    array_of_one = struct.pack("=IIII", 2, 4, 4, 1).ljust(48, bytes(1))
    if library.syscall(321 if os.uname().machine == "x86_64" else 280, 0, array_of_one, len(array_of_one)) < 0:
        raise OSError(ctypes.get_errno(), "bpf")
say("make a BPF map", make_map)
say("hostname", lambda: socket.sethostname("x"))
say("chroot", lambda: os.chroot("/"))
'''

# A user directory in a process of its own, as sssd and nslcd are, of the kind that libnss-systemd queries (varlink).
DIRECTORY = r'''
import json, os, socket, threading
NAME = "io.genv.Directory"
PATH = "/run/systemd/userdb/" + NAME
RECORDS = {"GetUserRecord": {"userName": "dora", "uid": 4242, "gid": 4242, "homeDirectory": "/nonexistent", "service": NAME},
           "GetGroupRecord": {"groupName": "readers", "gid": 4242, "service": NAME}}
def serve(connection):
    asked = b""
    while chunk := connection.recv(4096):
        asked += chunk
        while b"\0" in asked:
            question, _, asked = asked.partition(b"\0")
            question = json.loads(question)
            record = RECORDS.get(question["method"].rsplit(".", 1)[1], {})
            wanted = {key: value for key, value in question["parameters"].items() if key != "service"}
            if wanted and wanted.items() <= record.items():
                answer = {"parameters": {"record": record, "incomplete": False}}
            else:
                answer = {"error": "io.systemd.UserDatabase.NoRecordFound", "parameters": {}}
            connection.sendall(json.dumps(answer).encode() + b"\0")
os.makedirs(os.path.dirname(PATH), exist_ok=True)
listener = socket.socket(socket.AF_UNIX)
listener.bind(PATH)
os.chmod(PATH, 0o666)
listener.listen()
print("listens", flush=True)
while True:
    threading.Thread(target=serve, args=listener.accept()[:1], daemon=True).start()
'''

# Files that assign uids to users.
USER_FILES = {"read /etc/subuid", "read /etc/login.defs"}
GENVD_CAN = USER_FILES | {"write /run/genv/x", "read /proc/PID/environ", "read /proc/PID/stat", "read /dev/null", "namespace",
                          "read /proc/sys/kernel/core_pattern", "read /proc/devices", "program", "signal", "AF_UNIX"}
HELPER_CAN = USER_FILES | {"read /proc/PID/stat", "read /proc/sys/kernel/core_pattern", "read /proc/devices", "read /dev/null",
                           "AF_UNIX"}
# Nothing in /proc is hidden from root's group.
LOADER_CAN = USER_FILES | {"read /proc/PID/stat", "read /proc/sys/kernel/core_pattern", "read /proc/devices", "read /dev/null", "AF_UNIX",
                           "make a BPF map"}
DEVICE_NODES_CAN = USER_FILES | {"mknod", "chown", "read /proc/PID/stat", "read /proc/sys/kernel/core_pattern",
                                 "read /proc/devices", "read /dev/null"}
# Directives that do not define a sandbox but how a unit is started.
STARTING = ("Type", "BusName", "ExecStart", "ExecReload", "Restart", "RestartSec", "RestartPreventExitStatus", "WatchdogSec",
            "Wants", "After", "RuntimeDirectory", "RuntimeDirectoryMode", "RuntimeDirectoryPreserve", "LogLevelMax",
            "ConfigurationDirectory", "FileDescriptorStoreMax", "RemainAfterExit", "StandardInput", "StandardOutput", "StandardError")


class SandboxTest(MachineTest):
    def setUp(self):
        super().setUp()
        self.machine = scenario.machine

    def drop_in(self, unit, text):
        """Adds an administrator's drop-in for this test."""
        name = f"/etc/systemd/system/{unit}.d/sandbox-test.conf"
        self.machine.write(name, text)
        self.machine.must(["systemctl", "daemon-reload"])
        self.addCleanup(self.machine.run, ["systemctl", "daemon-reload"])
        self.addCleanup(self.machine.must, ["rm", name])

    def node(self):
        """Creates a GPU's device node, as the driver does on Debian."""
        self.machine.must(["mknod", "--mode=660", "/dev/nvidia0", "c", "195", "0"])
        self.machine.must(["chgrp", "video", "/dev/nvidia0"])
        self.addCleanup(self.machine.must, ["rm", "/dev/nvidia0"])

    def unit_file(self, name):
        return self.machine.must(["systemctl", "cat", "--no-pager", name])

    def probe(self, unit, *more):
        """Returns the operations that a program can do with the sandbox of a unit, also to a process of alice's: maps
        each name to "done" or an errno."""
        self.machine.must(["sh", "-c", "umask 077; echo secret >/home/alice/private; chown -R alice: /home/alice"])
        pid = self.machine.must(["setpriv", "--reuid=alice", "--regid=alice", "--init-groups", "sh", "-c",
                                 "sleep infinity >/dev/null 2>&1 & echo $!"]).strip()
        self.addCleanup(self.machine.must, ["kill", pid])
        lines = [line for line in self.unit_file(unit).splitlines() if not line.startswith(tuple(f"{word}=" for word in STARTING))]
        service = lines.index("[Service]") + 1
        lines[service:service] = ["Type=oneshot", f"ExecStart=/usr/bin/python3 /usr/local/bin/probe {pid}", *more]
        name = f"probe-{unit.replace('@', '')}"
        self.machine.write("/usr/local/bin/probe", PROBE, 0o755)
        self.machine.must(["sh", "-c", f"cat >/run/systemd/system/{name}"], "\n".join(lines) + "\n")
        self.addCleanup(self.machine.must, ["rm", "-f", f"/run/systemd/system/{name}", "/usr/local/bin/probe"])
        self.machine.must(["systemctl", "daemon-reload"])
        since = self.machine.must(["date", "+@%s.%N"]).strip()
        self.machine.must(["systemctl", "start", name])
        self.machine.must(["journalctl", "--sync"])
        told = [record["MESSAGE"] for record in self.machine.journal(f"--since={since}", f"_SYSTEMD_UNIT={name}")]
        return dict(line.rsplit(" ", 1) for line in told)


class Sandbox(SandboxTest):
    """genvd.service."""

    def test_it_runs_with_three_capabilities_and_nothing_to_gain(self):
        self.machine.must(["genvctl", "devices"])
        pid = self.machine.unit("MainPID")
        status = dict(line.split(":\t") for line in self.machine.must(["cat", f"/proc/{pid}/status"]).splitlines() if ":\t" in line)
        capabilities = (1 << 5) | (1 << 19) | (1 << 2)  # KILL, SYS_PTRACE, DAC_READ_SEARCH
        for name in ("CapPrm", "CapEff", "CapBnd"):
            self.assertEqual(int(status[name], 16), capabilities, name)
        # systemd-nspawn 257 passes the capabilities of its process 1 on as inheritable. They have no effect without a
        # file with capabilities, and no file here has any for them.
        self.assertEqual(int(status["CapInh"], 16) & ~capabilities, 0, status["CapInh"])
        self.assertEqual(status["CapAmb"].strip("0"), "")
        self.assertEqual((status["NoNewPrivs"], status["Seccomp"]), ("1", "2"))
        self.assertEqual(self.machine.must(["sh", "-c", f"ls /proc/{pid}/root/dev | grep -c nvidia; true"]), "0\n")

    def test_what_it_can_do_and_no_more(self):
        self.node()
        self.machine.must(["genvctl", "devices"])  # its folder exists
        told = self.probe("genvd.service", "ReadWritePaths=/run/genv")
        self.assertEqual({name for name, how in told.items() if how == "done"}, GENVD_CAN, told)
        for name in ("write /etc/x", "write /usr/x", "write /var/x", "write /run/x", "write /root/x"):
            self.assertEqual(told[name], "EROFS", name)
        self.assertEqual((told["mknod"], told["AF_INET"], told["memory"]), ("EPERM", "EAFNOSUPPORT", "EACCES"))
        self.assertEqual(told["read /dev/nvidia0"], "ENOENT")
        # It changes the maps of the kernel's gate, which exist already.
        self.assertEqual(told["make a BPF map"], "EPERM")

    def test_what_the_loader_of_the_gate_can_do_and_no_more(self):
        self.node()
        told = self.probe("genv-isolation.service")
        self.assertEqual({name for name, how in told.items() if how == "done"}, LOADER_CAN, told)
        for name in ("write /etc/x", "write /usr/x", "write /var/x", "write /run/x"):
            self.assertEqual(told[name], "EROFS", name)
        self.assertEqual((told["mknod"], told["signal"], told["read /dev/nvidia0"]), ("EPERM", "EPERM", "ENOENT"))

    def test_the_loader_ran_at_boot_and_did_nothing(self):
        self.assertEqual(self.machine.unit("ActiveState", name="genv-isolation.service"), "active")
        self.assertEqual(self.machine.unit("UnitFileState", name="genv-isolation.service"), "enabled")
        self.assertNotEqual(self.machine.run(["test", "-e", "/sys/fs/bpf/genv"]).status, 0)

    def test_what_the_driver_can_do_and_no_more(self):
        self.node()
        told = self.probe("genv-nvml@.service")
        self.assertEqual({name for name, how in told.items() if how == "done"}, HELPER_CAN, told)
        self.assertEqual(told["read /dev/nvidia0"], "EPERM", "no driver has told that this is its own")
        # /proc/devices gives the driver's major number, by which its nodes are recognised. There is no driver here.
        self.machine.must(["sh", "-c", "{ echo Character devices:; echo 195 nvidia; } >/run/devices && mount --bind /run/devices /proc/devices"])
        self.addCleanup(self.machine.must, ["umount", "/proc/devices"])
        self.assertEqual(self.probe("genv-nvml@.service")["read /dev/nvidia0"], "ENXIO")

    def test_users_and_groups_of_a_directory_that_another_process_has(self):
        self.machine.write("/usr/local/bin/directory", DIRECTORY)
        self.addCleanup(self.machine.must, ["rm", "-f", "/usr/local/bin/directory", "/run/systemd/userdb/io.genv.Directory"])
        directory = Background(self, ["python3", "/usr/local/bin/directory"])
        self.assertEqual(directory.line(), "listens\n")
        self.configure("[User dora]\nMaxGpuMemoryPerUser=1500M\n[Group readers]\nMaxDevicesPerUser=2\n")
        as_dora = "setpriv --reuid=4242 --regid=4242 --clear-groups genvctl run --gpus"
        holder = Background(self, f"{as_dora} 1 --gpu-memory 1g -- sh -c 'echo held; exec cat'")
        self.assertEqual(holder.line(), "held\n")
        [eid] = self.held()
        path = self.machine.must(["busctl", "call", *MANAGER, "dev.genv.Manager", "GetEnvironment", "s", eid]).split('"')[1]
        self.assertEqual(self.machine.must(["busctl", "get-property", MANAGER[0], path, "dev.genv.Environment", "User"]), 's "dora"\n')
        for gpus, limit in (("3 --gpu-memory 1m", "MaxDevicesPerUser"), ("1 --gpu-memory 1g", "MaxGpuMemoryPerUser")):
            self.refused(self.machine.run(f"{as_dora} {gpus} -- true"), 7, limit)
        self.assertEqual(holder.finish()[0], 0)

    def test_it_sees_whose_processes_compute_and_ends_them(self):
        self.machine.must(["cp", "/usr/bin/sleep", "/usr/local/bin/gpu-work"])
        self.addCleanup(self.machine.must, ["rm", "/usr/local/bin/gpu-work"])
        alice, bob = self.shell("alice"), self.shell("bob")
        self.ok(alice.run("genv activate --gpus 1"))
        eid = alice.variable("GENV_ENVIRONMENT_ID")
        # It descends from no shell, so only its variables, which only alice may read, assign it to an environment.
        hers = self.machine.must(["setpriv", "--reuid=alice", "--regid=alice", "--init-groups", "env",
                                  f"GENV_ENVIRONMENT_ID={eid}", "sh", "-c", "gpu-work infinity >/dev/null 2>&1 & echo $!"]).strip()
        his = bob.run("gpu-work infinity & echo $!").out.strip()
        self.addCleanup(self.machine.run, ["kill", "-9", hers, his])

        def found():
            rows = self.machine.must(["busctl", "--json=short", "call", *MANAGER, "dev.genv.Manager", "ListProcesses"])
            return {str(pid): (uid, environment) for pid, uid, environment, _ in json.loads(rows)["data"][0]}
        await_that("both in a sample", lambda: {hers, his} <= set(found()))  # the last sample is used for a second
        self.assertEqual((found()[hers], found()[his]), ((1001, eid), (1002, "")))
        self.machine.must(["genvctl", "terminate", his])
        self.assertEqual(bob.run(f"wait {his}").status, 128 + 15)
        self.ok(alice.run(f"genvctl terminate {hers}"))
        await_that("the end of alice's", lambda: self.machine.run(["kill", "-0", hers]).status != 0)

    def test_it_reads_the_journal(self):
        alice = self.shell("alice")
        self.ok(alice.run("genvctl run --gpus 0 --name sandboxed -- true"))
        await_that("the record", lambda: "sandboxed" in alice.run("genvctl history --json").out)

    def test_it_reads_its_configuration_anew(self):
        self.configure("[Limits]\nMaxDevicesPerUser=3\n")
        self.assertIn("MaxDevicesPerUser", self.ok(self.shell("alice").run("genvctl limits")))

    def test_it_writes_its_state_and_nothing_readable_that_is_not_for_all(self):
        holder = self.hold("alice")
        modes = self.machine.must(["sh", "-c", "find /run/genv -printf '%m %y %P\\n' | sed 's, environments/.*, environment,; s, shell/.*, prompt,' | sort -u"])
        # The record of use is there once a setting has changed.
        self.assertEqual(set(modes.splitlines()) - {"600 f use.json"}, {"755 d ", "700 d environments", "600 f environment", "755 d shell", "640 f prompt"})
        holder.finish()


    def test_a_full_disk_below_its_state_stops_nobody(self):
        def complaints():
            return [record["MESSAGE"] for record in self.machine.journal("--unit=genvd", "--priority=err")
                    if "use.json" in record["MESSAGE"]]
        self.configure("[Queue]\nOrder=fair\n")
        self.machine.must(["mount", "-t", "tmpfs", "-o", "size=4k,mode=700", "none", "/var/lib/genv"])
        self.addCleanup(self.machine.must, ["systemctl", "restart", "genvd"])  # it sees the folder below the mount again
        self.addCleanup(self.machine.must, ["umount", "/var/lib/genv"])
        self.assertNotEqual(self.machine.run(["sh", "-c", "cat /dev/zero >/var/lib/genv/full"]).status, 0)
        self.machine.must(["systemctl", "restart", "genvd"])  # the new one sees it
        self.hold("alice").finish()
        before = len(complaints())
        self.machine.must(["systemctl", "restart", "genvd"])
        await_that("the complaint", lambda: complaints()[before:] == [
            "cannot write /var/lib/genv/use.json: No space left on device; trying again every minute"])
        self.assertEqual(self.machine.must(["ls", "-A", "/var/lib/genv"]), "full\n")
        self.hold("alice").finish()
        self.machine.must(["rm", "/var/lib/genv/full"])
        self.machine.must(["systemctl", "restart", "genvd"])
        self.assertEqual(self.machine.must(["ls", "-A", "/var/lib/genv"]), "use.json\n")


# As NVIDIA's program does: makes the nodes of these minors, and gives them a mode and a group.
MODPROBE = r'''#!/bin/sh
set -eu
while [ $# -ge 2 ]; do
    node=/dev/nvidia$2
    [ "$2" != 255 ] || node=/dev/nvidiactl
    mknod "$node" c 195 "$2"
    chmod 660 "$node"
    chgrp video "$node"
    shift 2
done
'''


class DeviceNodes(SandboxTest):
    """genv-nvidia-nodes.service."""

    UNIT = "genv-nvidia-nodes.service"

    def setUp(self):
        super().setUp()
        self.machine.write("/usr/bin/nvidia-modprobe", MODPROBE, 0o755)
        self.addCleanup(self.machine.must, ["rm", "-f", "/usr/bin/nvidia-modprobe", "/dev/nvidiactl"])

    def test_makes_the_nodes_of_the_driver(self):
        self.machine.must(["systemctl", "start", self.UNIT])
        self.assertEqual(self.machine.must(["stat", "--format=%F %t:%T %a %U %G", "/dev/nvidiactl"]),
                         "character special file c3:ff 660 root video\n")

    def test_what_it_can_do_and_no_more(self):
        self.node()
        told = self.probe(self.UNIT, "ExecStartPre=/bin/mknod /dev/genv-probe c 195 9", "ExecStartPost=/bin/rm /dev/genv-probe")
        self.assertEqual({name for name, how in told.items() if how == "done"}, DEVICE_NODES_CAN, told)
        self.assertEqual((told["read /dev/nvidia0"], told["signal"]), ("EPERM", "EPERM"))
        for name in ("write /etc/x", "write /usr/x", "write /var/x", "write /run/x"):
            self.assertEqual(told[name], "EROFS", name)


class Driver(SandboxTest):
    """genv-nvml.socket and genv-nvml@.service."""

    LIBRARY = "/usr/local/lib/fake-nvml"

    def setUp(self):
        super().setUp()
        if not os.path.exists(FAKE_NVML):
            self.skipTest("the stand-in for NVML is not built: ninja fake_nvml")
        self.machine.must(["mkdir", "-p", self.LIBRARY])
        with open(FAKE_NVML, "rb") as source, open(self.machine.path(f"{self.LIBRARY}/libnvidia-ml.so.1"), "wb") as target:
            target.write(source.read())
        self.addCleanup(self.machine.must, ["rm", "-r", self.LIBRARY])
        self.become()
        # With a shorter time limit, which also shortens the test.
        command = re.search(r"^ExecStart=.* --time-limit=20$", self.unit_file("genv-nvml@.service"), re.M)[0]
        self.drop_in("genv-nvml@.service", f"[Service]\nEnvironment=LD_LIBRARY_PATH={self.LIBRARY} "
                     f"GENV_FAKE_NVML={self.LIBRARY}/machine.json\nExecStart=\n{command.replace('=20', '=8')}\n")
        self.addCleanup(self.machine.must, ["systemctl", "restart", "genvd.service"])
        self.configure("[GPU]\nBackend=nvml\n[Enforcement]\nInterval=1s\n")
        self.machine.must(["systemctl", "restart", "genvd.service"])

    def become(self, **faults):
        """Sets the driver's state: two GPUs, and the faults of its functions."""
        gpus = [{"uuid": f"GPU-{n:08x}-1111-2222-3333-444444444444", "name": "NVIDIA A100", "memory": {"total": 1 << 35, "used": 1 << 20}}
                for n in range(2)]
        name = f"{self.LIBRARY}/machine.json"
        self.machine.write(f"{name}.new", json.dumps({"devices": gpus, "faults": faults}))
        self.machine.must(["mv", f"{name}.new", name])

    def health(self):
        """Returns the health of each device in order, without devices that do not exist."""
        told = []
        for index in range(3):
            done = self.machine.run(["busctl", "--json=short", "get-property", MANAGER[0], f"{MANAGER[1]}/device/{index}",
                                     "dev.genv.Device", "Health"])
            told += [json.loads(done.out)["data"]] if done.status == 0 else []
        return told

    def helpers(self):
        told = self.machine.must(["systemctl", "list-units", "--all", "--no-legend", "--plain", "genv-nvml@*"])
        return [line.split()[0] for line in told.splitlines()]

    def log(self):
        identity = self.machine.unit("InvocationID")
        return "\n".join(record["MESSAGE"] for record in self.machine.journal(f"_SYSTEMD_INVOCATION_ID={identity}"))

    def await_health(self, *expected):
        await_that(f"health {expected}", lambda: self.health() == list(expected))

    def test_it_is_a_process_of_its_own_without_any_right(self):
        self.await_health("ok", "ok")
        [unit] = self.helpers()
        pid = self.machine.unit("MainPID", name=unit)
        status = dict(line.split(":\t") for line in self.machine.must(["cat", f"/proc/{pid}/status"]).splitlines() if ":\t" in line)
        self.assertEqual([status[name].strip("0") for name in ("CapPrm", "CapEff", "CapBnd", "CapAmb")], ["", "", "", ""])
        self.assertNotIn("0", status["Uid"].split())
        self.assertEqual(self.machine.must(["ps", "-o", "uid=", "-p", pid]).strip(), status["Uid"].split()[0])
        children = self.machine.run(["pgrep", "--list-name", "--parent", self.machine.unit("MainPID")])
        self.assertEqual({line.split()[1] for line in children.out.splitlines()} - {"genvd-proc"}, set(),
                         "genvd has no child but those that read /proc")
        self.refused(self.machine.as_user("alice", ["sh", "-c", "ls /run/genv-nvml"]), 2, "Permission denied")

    def test_one_that_hangs_delays_nobody_and_is_replaced(self):
        self.await_health("ok", "ok")
        self.become(nvmlDeviceGetName="hang")
        self.await_health("stale", "stale")
        self.ok(self.shell("alice").run("genvctl run --gpus 0 -- true"))
        self.assertIn("the GPU driver does not answer: genv-nvml did not answer in time", self.log())
        self.become()
        self.await_health("ok", "ok")
        await_that("the end of those that hang", lambda: len(self.helpers()) == 1)

    def test_one_that_crashes_is_replaced(self):
        self.await_health("ok", "ok")
        self.become(nvmlDeviceGetName="crash")
        self.await_health("stale", "stale")
        self.assertIn("genv-nvml ended, or systemd refused the connection", self.log())
        self.become()
        self.await_health("ok", "ok")
        self.assertEqual(len(self.helpers()), 1)

    def test_without_its_socket_the_devices_stay_and_the_log_says_so_once(self):
        self.await_health("ok", "ok")
        self.machine.must(["systemctl", "stop", "genv-nvml.socket", *self.helpers()])
        self.await_health("stale", "stale")
        line = "genv-nvml cannot be reached at /run/genv-nvml/socket: No such file or directory; check that its socket unit runs"
        self.machine.must(["busctl", "call", *MANAGER, "dev.genv.Manager", "ListEnvironments"])
        self.assertEqual(self.log().count(line), 1)
        self.machine.must(["systemctl", "start", "genv-nvml.socket"])
        self.await_health("ok", "ok")
        self.assertIn("the GPU driver answers again", self.log())

    def test_it_ends_with_the_service_and_comes_with_it(self):
        self.await_health("ok", "ok")
        self.machine.must(["systemctl", "stop", "genvd.service"])
        await_that("its end", lambda: self.helpers() == [])
        self.await_health("ok", "ok")
        self.assertEqual(self.machine.must(["systemctl", "--failed", "--no-legend"]), "")
