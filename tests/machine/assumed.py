# SPDX-License-Identifier: LGPL-2.1-or-later
"""The state that the pages assume: users, hosts, files, and the holders of GPUs when a command is typed.

A function here prepares a page, or one command of it, in its session (documents.py).
"""

import datetime
import glob
import json
import os
import shutil

from machine import PACKAGES
from scenario import SETUP, await_that
from typist import PS1

GPUS = """\
[Service]
Environment="GENV_MOCK_DEVICE_NAME=NVIDIA A100-SXM4-40GB" GENV_MOCK_DEVICE_TOTAL_MEMORY=40g
"""
KERNEL = """\
from jupyter_client import KernelManager
manager = KernelManager(kernel_name="python3-genv", connection_file="kernel-{}.json")
manager.start_kernel()
input()
manager.shutdown_kernel(now=True)
"""
NIGHT = """\
#!/bin/bash
#genv --gpus 2 --lifetime 8h
#genv --begin 22:00
python train.py
"""
FOR_EVER = "import signal\nsignal.pause()\n"
PEOPLE = ("admin", "alice", "bob", "carol")


def prepare_machine(machine):
    """Prepares, once, GPUs as the pages show them, sudo without a password, and the machine as its own remote hosts."""
    machine.write("/etc/systemd/system/genvd.service.d/pages.conf", GPUS)
    machine.write("/etc/sudoers.d/pages", "admin ALL=(ALL) NOPASSWD: ALL\n", 0o440)
    machine.write("/etc/ssh/sshd_config.d/pages.conf", "Port 22\nPort 2222\n")
    machine.write("/etc/hosts", "127.0.0.1 localhost machine h1 h2 h3\n")
    for user in PEOPLE:
        machine.must(f"cp -r /root/.ssh /home/{user}/ && chown -R {user}: /home/{user}/.ssh")
    machine.must("cp /usr/bin/sleep /usr/local/bin/gpu-work && systemctl daemon-reload && systemctl restart genvd ssh")


def prepare_people(machine):
    """Prepares, for each page, start-up files as genv's manual describes them."""
    for user in PEOPLE:
        machine.write(f"/home/{user}/.bashrc", PS1 + SETUP + "\n")
    machine.write("/root/.bashrc", PS1)


def hosts(session):
    """Writes files with host names, and programs for the hosts."""
    for name, lines in {"cluster": "h1\n", "hosts": "h1\nh2\n", "gpu-hosts": "h1\n"}.items():
        session.machine.write(f"/home/alice/{name}", lines)
    session.machine.write("/home/alice/train.py", "print('trained')\n")
    session.machine.write("/home/alice/night.sh", "#!/bin/sh\nexit 0\n", 0o755)


# README and the guides


def newcomers(session):
    session.machine.write("/home/alice/.bashrc", PS1)  # she sets her shell up herself
    for name in ("hello.py", "test.py"):
        session.machine.write(f"/home/alice/{name}", "print('done')\n")
    for user in ("alice", "bob"):
        session.machine.write(f"/home/{user}/train.py", FOR_EVER)


def alices_job_runs(session):
    await_that("alice's job", lambda: session.holds("alice", 1))


def alices_job_ends(session):
    session.close("alice")
    await_that("bob's turn", lambda: session.holds("bob", 4))


def bobs_job_ends(session):
    session.close()


def alice_is_set_up(session):
    session.close()
    prepare_people(session.machine)  # by now the set-up is in alice's start-up file


def nothing_is_saved(session):
    session.close()
    session.machine.must(["rm", "-r", "/home/alice/.genv"])


def programs_lie_there(session):
    for name, text in {"train.py": "print('epoch 1', flush=True)\n" + FOR_EVER, "step.py": "", "evaluate.py": "",
                       "night.sh": NIGHT}.items():
        session.machine.write(f"/home/alice/{name}", text)


def packages_lie_there(session):
    folder = session.machine.path("/home/admin/build/packages")
    os.makedirs(folder)
    for deb in glob.glob(os.path.join(PACKAGES, "*.deb")):
        shutil.copy(deb, folder)


def bob_is_outside(session):
    session.beside("bob", "genv activate --gpus 3")
    session.shape.ids["4711"] = session.gpu_process("bob", "CUDA_VISIBLE_DEVICES=0 ")


def a_report_is_decided(session):
    environments = session.test.snapshot()["envs"]["envs"]
    report = {"terminate": {"processes": []}, "detach": {"1": {"envs": environments}}}
    session.machine.write("/home/admin/report.json", json.dumps(report))


def two_hold_gpus(session):
    session.close()
    session.beside("alice", "genv activate --index 0 --name training")
    session.beside("carol", "genv activate --index 2")


# The pages of data/doc


def genv_1_is_left(session):
    for name, text, mode in [("/usr/local/genv/bin/genv", "#!/usr/bin/env python3\n# genv\n", 0o755),
                             ("/etc/profile.d/genv.sh", "export PATH=/usr/local/genv/bin:$PATH\n", 0o644),
                             ("/var/tmp/genv/envs.json", "{}\n", 0o666)]:
        session.machine.write(name, text, mode)


def its_lines_are_removed(session):
    session.machine.must(["rm", "/etc/profile.d/genv.sh"])


def two_attached(session):
    session.prepare("alice", "genv activate --index 1 --index 3")


def training_uses_gpus(session):
    session.machine.write("/home/alice/train.py", "open('/proc/self/comm', 'w').write('gpu-work')\n" + FOR_EVER)


def training_is_seen(session):
    await_that("the training in a sample", lambda: session.test.snapshot()["processes"]["processes"])


def shell_is_active(session):
    session.prepare("alice", "genv activate --gpus 2")


def alice_has_waited(session):
    """Returns the period of the report, in which nothing else has happened."""
    since = datetime.datetime.now().replace(microsecond=0) + datetime.timedelta(seconds=1)
    await_that("the next second", lambda: datetime.datetime.now() >= since)
    session.shape.ids["2026-11-20 09:00"] = str(since)
    session.beside("bob", "genv activate --gpus 4")
    waiter = session.test.background("alice", "genvctl run --gpus 2 --wait -- true")
    waiter.complaint()
    session.close("bob")
    session.test.assertEqual(waiter.finish()[0], 0)


def the_report_ends(session):
    session.shape.ids["2026-11-20 11:00"] = str(datetime.datetime.now().replace(microsecond=0) + datetime.timedelta(seconds=1))


def journal_has_all(session):
    """Makes an event for each of the page's matches."""
    session.beside("alice", "genv activate --gpus 4")
    environment = session.test.held()[0]
    session.test.refused(session.machine.as_user("bob", f"genvctl devices detach --eid {environment} --index 3"), 4, "")
    session.machine.must(["genvctl", "devices", "detach", "--eid", environment, "--index", "3"])


def kernel_runs(session):
    kernel = "0f6b8c1e-1111-2222-3333-444455556666"
    session.machine.write("/home/alice/kernel.py", KERNEL.format(kernel))
    server = session.test.background("alice", "python3 kernel.py")
    session.test.addCleanup(server.finish)
    await_that("the kernel's environment", lambda: session.machine.must(["genvctl", "envs", "find", "--kernel-id", kernel]))


def source_lies_there(session):
    [source] = [block for language, block in session.page.blocks if language == "cpp"]
    session.machine.write("/home/alice/hold-gpu.cpp", "\n".join(source) + "\n")
    session.machine.must(["chown", "alice:", "/home/alice", "/home/alice/hold-gpu.cpp"])


def another_machine(session):
    session.machine.must(["systemctl", "disable", "--now", "genv-monitor"])


def somebody_elses_shell(session):
    session.shape.ids["4711"] = session.beside("alice", "genv activate && echo $$").split()[-1]


def one_is_attached(session):
    session.beside("alice", "genv activate --gpus 1 --name training")


def three_are_attached(session):
    session.close()
    session.beside("alice", "genv activate --gpus 3")


PAGES = {
    "README.md": newcomers,
    "data/doc/containers.md": two_attached,
    "data/doc/from-genv-1.md": genv_1_is_left,
    "data/doc/history.md": alice_has_waited,
    "data/doc/jobs.md": programs_lie_there,
    "data/doc/journal.md": journal_has_all,
    "data/doc/libgenv.md": source_lies_there,
    "data/doc/remote.md": hosts,
    "data/doc/shell.md": training_uses_gpus,
    "data/doc/user.md": newcomers,
}
BEFORE = {
    ("data/doc/admin.md", "sudo apt install ./build/packages/*.deb"): packages_lie_there,
    ("data/doc/admin.md", "sudo genvctl enforce --interval 0 --non-env-processes --dry-run"): bob_is_outside,
    ("data/doc/admin.md", "sudo genvctl usage execute <report.json"): a_report_is_decided,
    ("data/doc/admin.md", "sudo genvctl history --since yesterday --kind detached"): another_machine,
    ("data/doc/admin.md", "busctl tree dev.genv.Manager"): two_hold_gpus,
    ("data/doc/from-genv-1.md", "sudo genvctl doctor"): its_lines_are_removed,
    ("data/doc/history.md", 'genvctl report --since "2026-11-20 09:00" --until "2026-11-20 11:00"'): the_report_ends,
    ("data/doc/jupyter.md", "genvctl envs find --kernel-id 0f6b8c1e-1111-2222-3333-444455556666"): kernel_runs,
    ("data/doc/monitoring.md", "genvctl remote -H h1,h2,alice@h3:2222 monitor"): another_machine,
    ("data/doc/remote.md", "genvctl -H root@h1 envs deactivate --pid 4711"): somebody_elses_shell,
    ("data/doc/remote.md", "genvctl remote -H h1,h2,h3 devices"): one_is_attached,
    ("data/doc/remote.md", "genvctl remote -H h1,h2,h3 activate --gpus 2"): lambda session: session.close(),
    ("data/doc/remote.md", "genvctl remote -H h1,h2 enforce --dry-run --interval 0 --max-devices-for-user alice=2"):
        three_are_attached,
    ("data/doc/shell.md", "genv deactivate"): training_is_seen,
    ("data/doc/shell.md", '{ read -r sequence began; read -r devices; } <"$GENV_STATUS_FILE"'): shell_is_active,
    ("data/doc/user.md", "genvctl run --gpus 4 --wait=2h --lifetime 8h -- python train.py"): alices_job_runs,
    ("data/doc/user.md", "genvctl extend --id 71 12h"): alices_job_ends,
    ("data/doc/user.md", "genvctl submit --array 1-8 --lifetime 10h -- python test.py --fold {}"): bobs_job_ends,
    ("data/doc/user.md", "genv activate --gpus 2"): alice_is_set_up,
    ("data/doc/user.md", "genvctl history --since yesterday --kind detached"): nothing_is_saved,
}
