#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compiles each source file of a compilation database by itself, and generates no code.

usage: compile_each.py BUILD-FOLDER JOBS [PLUGINS]

The presets of ./dev compile several files as one, and so hide an #include that a file lacks. The build of a packager
would fail. Clang needs less time than GCC, whose warnings other builds show, and even less with the plugin "parse-only"
of own_code.cpp.
"""

import concurrent.futures
import itertools
import json
import os
import shlex
import shutil
import subprocess
import sys


def parse_only(plugins):
    """Returns the options with which Clang instantiates no templates in vain."""
    return [f"-fplugin={plugins}", "-Xclang", "-plugin", "-Xclang", "parse-only", "-fdelayed-template-parsing"]


def compile_only(entry, plugins):
    """Returns the messages of the compiler about a file if it does not compile, else an empty text."""
    words = shlex.split(entry["command"])
    if clang := shutil.which("clang++-14" if words[0].endswith("++") else "clang-14"):
        words = [clang, *(parse_only(plugins) if plugins else []), *words[1:]]
    if "-o" in words:
        place = words.index("-o")
        del words[place:place + 2]
    done = subprocess.run([*words, "-fsyntax-only", "-w"], cwd=entry["directory"], capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else ""


def main(folder, jobs, plugins=None):
    with open(os.path.join(folder, "compile_commands.json"), encoding="utf-8") as file:
        entries = json.load(file)
    with concurrent.futures.ThreadPoolExecutor(jobs) as workers:
        failures = [messages for messages in workers.map(compile_only, entries, itertools.repeat(plugins)) if messages]
    sys.stdout.writelines(failures)
    return 1 if failures or not entries else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:]))
