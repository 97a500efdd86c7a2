# SPDX-License-Identifier: LGPL-2.1-or-later
"""Several machines on one: hosts with a network, sshd, system bus, polkitd and genvd each, and a client that logs in to
them.

A test runs as root inside tests/remote/lab, which is the client machine (a private bus with alice, bob and carol).
Every host is a private bus in namespaces of its own within the client's, at 10.77.0.N (and fd77::N) on a bridge. The
test names it, and it listens on ports 22 and 2222. alice may log in with her key as alice and as root, bob as bob, root
as root; carol has no key. A host's PATH contains what an installation would put there. Everything ends with the test,
however it ends. The real machine's network, homes and ssh configuration are neither used nor changed.
"""

import json
import os
import re
import select
import shlex
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.realpath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(SOURCE, "tests", "client"))

from bus_scenario import AS_USER, BUS_FOLDER, Output, Terminal, programs  # noqa: E402

BUILD = os.environ.get("GENV_LAB_BUILD", "")
GENVD = os.path.join(BUILD, "service", "genvd")
GENVCTL = os.path.join(BUILD, "client", "genvctl")
PRELOAD = os.path.join(BUILD, "tests", "private_bus", "polkitd_spurious_wakeups.so")
FOLDER = os.path.join(BUS_FOLDER, "hosts")
DEADLINE_SECONDS = 120
KEPT_VARIABLES = ("ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS")

# The output of the old genv unless a test sets another one.
OLD_SNAPSHOT = {
    "processes": {"processes": []},
    "envs": {"envs": [{"eid": "1234", "uid": 1002, "creation": "01/05/2024 10:00:00", "username": "bob",
                       "config": {"name": "old-work", "gpu_memory": None, "gpus": 1}, "pids": [1234], "kernel_ids": []}]},
    "devices": {"devices": [
        {"index": 0, "total_memory": "16384mi",
         "attachments": [{"eid": "1234", "gpu_memory": None, "time": "01/05/2024 10:00:05"}]},
        {"index": 1, "total_memory": "16384mi", "attachments": []}]},
}


def write(path, text, mode=0o644):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)


def run(command, **options):
    """Runs a command that must succeed, and returns its output."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=DEADLINE_SECONDS, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{shlex.join(command)}: status {done.returncode}: {done.stderr}{done.stdout}")
    return done.stdout


def output_of(command, typed=None, timeout=DEADLINE_SECONDS):
    """Returns the result of a command. If it does not end in time, the test fails."""
    done = subprocess.run(command, capture_output=True, input=(typed or "").encode(), check=False, timeout=timeout)
    return Output(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))


def words(command):
    return ["bash", "-c", command] if isinstance(command, str) else list(command)


class Spec:
    """The configuration of one host. genv: True, None (not installed) or "old" (the stand-in for the Python genv)."""

    def __init__(self, genv=True, devices=2, name=None, memory=None, broker=False, nvidia_smi=None, variables=None,
                 journal=False, passwords=False, key_exchange="curve25519-sha256"):
        self.genv, self.broker, self.nvidia_smi, self.journal = genv, broker, nvidia_smi, journal
        self.passwords = passwords  # whether sshd accepts passwords: carol's is gpu-for-all
        self.key_exchange = key_exchange  # None: OpenSSH's default, which takes twice the time
        self.variables = {"GENV_MOCK_DEVICE_COUNT": str(devices)}
        if name:
            self.variables["GENV_MOCK_DEVICE_NAME"] = name
        if memory:
            self.variables["GENV_MOCK_DEVICE_TOTAL_MEMORY"] = memory
        self.variables.update(variables or {})


class Host:
    """One of the hosts. Created by Lab."""

    def __init__(self, lab, name, number, spec):
        self.name, self.number, self.spec, self.lab = name, number, spec, lab
        self.address, self.address6 = f"10.77.0.{number}", f"fd77::{number}"
        self.folder = os.path.join(FOLDER, name)
        self.bin = os.path.join(self.folder, "bin")
        self.path = f"{self.bin}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
        self.process = None
        self.bus_folder = None
        self.init = None
        self._prepare()

    def _prepare(self):
        spec = self.spec
        os.makedirs(self.bin)
        os.makedirs(os.path.join(self.folder, "authorized_keys"))
        self._prepare_sshd()
        if spec.genv is True:
            os.symlink(GENVCTL, os.path.join(self.bin, "genvctl"))
            os.symlink("genvctl", os.path.join(self.bin, "genv"))
            os.symlink(os.path.join(HERE, "service"), os.path.join(self.folder, "service"))
            os.symlink(GENVD, os.path.join(self.folder, "genvd-program"))
            self.set_devices()
        elif spec.genv == "old":
            os.makedirs(os.path.join(self.folder, "old", "executed"))
            os.chmod(os.path.join(self.folder, "old", "executed"), 0o1777)
            os.symlink(os.path.join(HERE, "old-genv"), os.path.join(self.bin, "genv"))
            self.set_snapshot(OLD_SNAPSHOT)
        if spec.nvidia_smi:
            self.add_program("nvidia-smi", spec.nvidia_smi)

    def _prepare_sshd(self):
        key = os.path.join(self.folder, "host_key")
        run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", self.name, "-f", key])
        for user, owners in {"alice": ["alice"], "bob": ["bob"], "root": ["alice", "root"]}.items():
            write(os.path.join(self.folder, "authorized_keys", user),
                  "".join(self.lab.public_keys[owner] for owner in owners))
        variables = {"PATH": self.path}
        variables.update({name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ})
        write(os.path.join(self.folder, "sshd_config"), f"""\
Port 22
Port 2222
HostKey {key}
AuthorizedKeysFile {self.folder}/authorized_keys/%u
PasswordAuthentication {"yes" if self.spec.passwords else "no"}
KbdInteractiveAuthentication no
{f"KexAlgorithms {self.spec.key_exchange}" if self.spec.key_exchange else ""}
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
UseDNS no
PidFile none
MaxStartups 500
PrintMotd no
PrintLastLog no
AcceptEnv LANG LC_*
SetEnv {" ".join(f'{name}="{value}"' for name, value in variables.items())}
""")

    def known_host(self):
        names = [self.name, self.address, self.address6]
        names += [f"[{name}]:2222" for name in names]
        with open(os.path.join(self.folder, "host_key.pub"), encoding="utf-8") as file:
            return f"{','.join(names)} {file.read()}"

    # Control from the test

    def set_devices(self, **variables):
        """Sets the service's variables for its next start."""
        self.spec.variables.update(variables)
        write(os.path.join(self.folder, "genvd"),
              "".join(f"{name}={value}\n" for name, value in self.spec.variables.items()))

    def set_snapshot(self, snapshot):
        """Sets the output of the old genv: an object, or any text."""
        write(os.path.join(self.folder, "old", "snapshot.json"),
              snapshot if isinstance(snapshot, str) else json.dumps(snapshot))

    def executed(self):
        """Returns the reports that the old genv executed: a list of {"user", "report" (its text)}."""
        folder = os.path.join(self.folder, "old", "executed")
        names = sorted(name for name in os.listdir(folder) if name.endswith(".json"))
        executed = []
        for name in names:
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                executed.append(json.load(file))
        return executed

    def add_program(self, name, script):
        """Adds a script in front of everything else on the host's PATH."""
        path = os.path.join(self.bin, name)
        if os.path.islink(path):
            os.rename(path, path + ".genv")
        write(path, script, 0o755)

    def remove_program(self, name):
        path = os.path.join(self.bin, name)
        if os.path.exists(path):
            os.remove(path)
        if os.path.islink(path + ".genv"):
            os.rename(path + ".genv", path)

    def root_command(self, command):
        """Returns the command line that runs a command there as root, without ssh."""
        variables = {"PATH": self.path, "HOME": os.path.join(self.bus_folder, "home", "root"), "USER": "root",
                     "LOGNAME": "root", "SHELL": "/bin/bash", "GENV_PRIVATE_BUS": self.bus_folder,
                     "DBUS_SYSTEM_BUS_ADDRESS": f"unix:path={self.bus_folder}/bus.sock",
                     "RUNTIME_DIRECTORY": f"{self.bus_folder}/run/genv",
                     "CONFIGURATION_DIRECTORY": f"{self.bus_folder}/config",
                     "STATE_DIRECTORY": f"{self.bus_folder}/state"}
        variables.update({name: os.environ[name] for name in (*KEPT_VARIABLES, "TERM") if name in os.environ})
        return ["nsenter", f"--target={self.init}", "--mount", "--net", "--pid", "--uts", "--wd=/", "env", "-i",
                *(f"{name}={value}" for name, value in variables.items()), *words(command)]

    def root(self, command, typed=None, timeout=DEADLINE_SECONDS):
        """Runs a command there as root, without ssh. The command is a list of words, or a line for bash."""
        return output_of(self.root_command(command), typed, timeout)

    def as_user(self, user, command, typed=None, timeout=DEADLINE_SECONDS):
        """Runs a command there as that user, without ssh."""
        return self.root([os.path.join(self.bus_folder, "as-user"), user, *words(command)], typed, timeout)

    def start_as_user(self, user, command):
        """Starts a command there as that user and returns its Popen, with pipes to and from it."""
        return subprocess.Popen(self.root_command([os.path.join(self.bus_folder, "as-user"), user, *words(command)]),
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def home(self, user):
        return os.path.join(self.bus_folder, "home", user)

    def control(self, *command, typed=None):
        """Runs tests/private_bus/control there."""
        done = self.root([os.path.join(self.bus_folder, "control"), *command], typed)
        if done.status != 0:
            raise RuntimeError(f"control {command} on {self.name}: {done}")

    def add_rule(self, name, rule):
        self.control("add-rule", name, typed=rule)

    def remove_rule(self, name):
        self.control("remove-rule", name)

    def allow(self, user, *actions):
        """Adds a polkit rule that permits actions to a user without a question. Actions are given by their last word.
        """
        ids = json.dumps([f"dev.genv.manager.{action}" for action in actions])
        self.add_rule(f"allow-{user}", f"""polkit.addRule(function(action, subject) {{
    if ({ids}.indexOf(action.id) >= 0 && subject.user == "{user}")
        return polkit.Result.YES;
}});""")

    def stop_service(self):
        self._service("stop")

    def start_service(self):
        self._service("start")

    def _service(self, what):
        done = self.root([os.path.join(self.folder, "service"), what])
        if done.status != 0:
            raise RuntimeError(f"genvd on {self.name}: {done}")

    def logs(self):
        return self.root(["bash", "-c", 'tail -n 50 "$GENV_PRIVATE_BUS"/*.log']).out

    # Starting and stopping

    def begin(self):
        """Starts it; await_ready() waits until it is up."""
        # The bus' own folders are in a tmpfs of the client's, which goes away with the client.
        command = ["unshare", "--uts", "sh", "-c", 'echo "$1" >/proc/sys/kernel/hostname && shift && exec "$@"', "sh",
                   self.name, os.path.join(SOURCE, "tests/private_bus/private-bus"), "--in", FOLDER,
                   "--dbus-policy", os.path.join(SOURCE, "data/dbus/dev.genv.Manager.conf"),
                   "--polkit-actions", os.path.join(SOURCE, "data/polkit")]
        if os.path.exists(PRELOAD):
            command += ["--polkitd-preload", PRELOAD]
        if self.spec.broker:
            command.append("--broker")
        if self.spec.journal:
            command.append("--journal")
        with open(os.path.join(self.folder, "log"), "ab") as log:
            self.process = subprocess.Popen(
                ["nsenter", f"--net=/run/netns/{self.name}", "--", *command, "--", os.path.join(HERE, "host"), self.folder],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=dict(os.environ, PATH=self.path))

    def await_ready(self):
        deadline = time.monotonic() + DEADLINE_SECONDS
        text = b""
        while b"\n" not in text:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, deadline - time.monotonic()))
            chunk = os.read(self.process.stdout.fileno(), 4096) if ready else b""
            if not chunk:
                with open(os.path.join(self.folder, "log"), encoding="utf-8", errors="replace") as log:
                    raise RuntimeError(f"{self.name} does not come up: {text!r}\n{log.read()}")
            text += chunk
        self.bus_folder = re.fullmatch(rb"ready (\S+)\n", text).group(1).decode()
        self.init = self._find_init()

    def _find_init(self):
        """Returns process 1 of the host, as numbered here."""
        left = [self.process.pid]
        while left:
            pid = left.pop()
            with open(f"/proc/{pid}/status", encoding="utf-8") as file:
                numbers = re.search(r"^NSpid:\s+(.*)$", file.read(), re.M).group(1).split()
            if len(numbers) > 1 and numbers[-1] == "1":
                return pid
            with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
                left += [int(child) for child in file.read().split()]
        raise RuntimeError(f"{self.name} has no process 1")

    def start(self):
        """Starts it again after kill()."""
        self.plug()
        self.begin()
        self.await_ready()

    def processes(self):
        """Returns every process of the host, as numbered here."""
        try:
            namespace = os.readlink(f"/proc/{self.init}/ns/pid")
        except OSError:
            return set()
        found = set()
        for entry in os.listdir("/proc"):
            try:
                if entry.isdigit() and os.readlink(f"/proc/{entry}/ns/pid") == namespace:
                    found.add(int(entry))
            except OSError:  # it has ended
                pass
        return found

    def stop(self):
        """Stops all of its processes with SIGSTOP: it accepts connections but does not answer."""
        stopped = set()
        while True:
            new = self.processes() - stopped
            if not new:
                return
            for pid in new:
                self._signal(pid, signal.SIGSTOP)
            for pid in new:
                self._await_stopped(pid)
            stopped |= new

    def cont(self):
        for pid in self.processes():
            self._signal(pid, signal.SIGCONT)

    @staticmethod
    def _signal(pid, number):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass

    @staticmethod
    def _await_stopped(pid):
        deadline = time.monotonic() + DEADLINE_SECONDS
        while time.monotonic() < deadline:
            try:
                with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                    if file.read().rpartition(")")[2].split()[0] in "TtZX":
                        return
            except OSError:
                return
            os.sched_yield()
        raise RuntimeError(f"process {pid} does not stop")

    def kill(self):
        """Ends all of its processes at once. Its network stays, so connections are refused."""
        if self.process is None:
            return
        if self.init:
            self._signal(self.init, signal.SIGKILL)
        else:
            self.process.kill()
        self.process.stdin.close()
        self.process.wait(DEADLINE_SECONDS)
        self.process.stdout.close()
        self.process = self.init = None

    def unplug(self):
        """Cuts it off, as a power failure does; connecting fails after some seconds."""
        run(["ip", "link", "set", f"v{self.number}", "down"])
        # With a cached neighbour entry, a client would wait for half a minute.
        run(["ip", "neigh", "flush", "to", self.address])

    def plug(self):
        run(["ip", "link", "set", f"v{self.number}", "up"])


class Lab:
    """The client machine and its hosts: {name: Spec}. There is one for each test program; close() ends the hosts."""

    def __init__(self, hosts):
        if not BUS_FOLDER or not BUILD:
            raise SystemExit("this runs inside tests/remote/lab")
        programs.update(genvd=GENVD, genvctl=GENVCTL)
        self.public_keys = {}
        self._prepare_client()
        self._hosts = {name: Host(self, name, number, spec) for number, (name, spec) in enumerate(hosts.items(), 1)}
        self._connect()
        self._name_hosts()
        for host in self._hosts.values():
            host.begin()
        for host in self._hosts.values():
            host.await_ready()

    def host(self, name):
        return self._hosts[name]

    def close(self):
        for host in self._hosts.values():
            host.kill()

    # The client

    def client(self, user, command, typed=None, timeout=DEADLINE_SECONDS, **variables):
        """Runs a command on the client as that user: words, or a line for bash. Returns an Output."""
        assignments = [f"{name}={value}" for name, value in variables.items()]
        return output_of([AS_USER, user, "env", *assignments, *words(command)], typed, timeout)

    def ctl(self, user, *arguments, **options):
        """Runs genvctl on the client."""
        return self.client(user, [GENVCTL, *arguments], **options)

    def start_client(self, user, command):
        """Starts a command on the client and returns its Popen, with pipes to and from it."""
        return subprocess.Popen([AS_USER, user, *words(command)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def terminal(self, user, *command, **variables):
        """Runs a program on the client on a terminal of its own: see bus_scenario.Terminal. variables: PATH, TERM,
        NO_COLOR..."""
        return Terminal(user, *command, **variables)

    def home(self, user):
        return os.path.join(BUS_FOLDER, "home", user)

    def write_file(self, user, path, text, mode=0o600):
        """Writes a file in a user's home folder on the client, such as .ssh/config."""
        path = os.path.join(self.home(user), path)
        write(path, text, mode)
        run(["chown", f"{user}:", path])
        return path

    def set_ssh_config(self, user, text):
        self.write_file(user, ".ssh/config", text)

    def _prepare_client(self):
        os.mkdir(FOLDER)
        run(["mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", FOLDER])
        client = os.path.join(FOLDER, ".client")
        os.makedirs(os.path.join(client, "bin"))
        os.symlink(GENVCTL, os.path.join(client, "bin", "genvctl"))
        os.symlink("genvctl", os.path.join(client, "bin", "genv"))
        os.environ["PATH"] = f"{client}/bin:{os.environ['PATH']}"
        self._move_roots_home()
        for user in ("alice", "bob", "root"):
            folder = os.path.join(self.home(user), ".ssh")
            run(["install", "-d", "-m", "700", "-o", user, "-g", user, folder])
            run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", f"{user}@client",
                 "-f", os.path.join(folder, "id_ed25519")])
            run(["chown", "-R", f"{user}:", folder])
            with open(os.path.join(folder, "id_ed25519.pub"), encoding="utf-8") as file:
                self.public_keys[user] = file.read()

    def _move_roots_home(self):
        """Gives root a home folder of its own: a test must not use the real root's home and keys."""
        home = self.home("root")
        os.makedirs(home, 0o700, exist_ok=True)
        with open("/etc/passwd", encoding="utf-8") as file:
            text = file.read()
        # Written in place: it is a mount.
        with open("/etc/passwd", "w", encoding="utf-8") as file:
            file.write(re.sub(r"^(root:(?:[^:]*:){4})[^:]*", lambda found: found.group(1) + home, text, flags=re.M))
        os.environ["HOME"] = home

    def _connect(self):
        """Makes a bridge, and a cable to each host's network namespace."""
        commands = ["link set lo up", "link add lab type bridge", "addr add 10.77.0.254/24 dev lab", "link set lab up"]
        for host in self._hosts.values():
            commands += [f"netns add {host.name}",
                         f"link add v{host.number} type veth peer name eth0 netns {host.name}",
                         f"link set v{host.number} master lab up"]
        run(["ip", "-batch", "-"], input="\n".join(commands) + "\n")
        for host in self._hosts.values():
            commands = ["link set lo up", f"addr add {host.address}/24 dev eth0", "link set eth0 up"]
            run(["ip", "-n", host.name, "-batch", "-"], input="\n".join(commands) + "\n")
        # Some kernels have no IPv6.
        subprocess.run(["ip", "-6", "addr", "add", "fd77::fe/64", "dev", "lab", "nodad"], check=False, capture_output=True)
        for host in self._hosts.values():
            subprocess.run(["ip", "-n", host.name, "-6", "addr", "add", f"{host.address6}/64", "dev", "eth0", "nodad"],
                           check=False, capture_output=True)

    def _name_hosts(self):
        """Writes the names and keys of the hosts, for all users. The real machine's known hosts are not used."""
        client = os.path.join(FOLDER, ".client")
        os.mkdir(os.path.join(client, "ssh"))
        write(os.path.join(client, "ssh", "ssh_config"), "Host *\n    SendEnv LANG LC_*\n    HashKnownHosts yes\n"
              # OpenSSH 10.1 and later warn of the hosts' quick key exchange.
              "    IgnoreUnknown WarnWeakCrypto\n    WarnWeakCrypto no\n")
        write(os.path.join(client, "ssh", "ssh_known_hosts"), "".join(host.known_host() for host in self._hosts.values()))
        run(["mount", "--bind", os.path.join(client, "ssh"), "/etc/ssh"])
        names = ["127.0.0.1 localhost\n", "10.77.0.254 client\n"]
        names += [f"{host.address} {host.name}\n" for host in self._hosts.values()]
        write(os.path.join(client, "hosts"), "".join(names))
        run(["mount", "--bind", os.path.join(client, "hosts"), "/etc/hosts"])
        with open("/etc/nsswitch.conf", encoding="utf-8") as file:
            text = re.sub(r"^hosts:.*$", "hosts: files", file.read(), flags=re.M)
        write(os.path.join(client, "nsswitch.conf"), text)
        run(["mount", "--bind", os.path.join(client, "nsswitch.conf"), "/etc/nsswitch.conf"])
