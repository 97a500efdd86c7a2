#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compiles each source file of a compilation database by itself, and generates no code.

usage: compile_each.py BUILD-FOLDER JOBS [PLUGINS]

The presets of ./dev compile several files as one, and so hide an #include that a file lacks. The build of a packager
would fail. Clang needs less time than GCC, whose warnings other builds show, and even less with the plugin "parse-only"
of own_code.cpp, and if it reads the headers that take most time only once. A file gets of those only what it includes
anyway, itself or through own headers, so that they hide nothing that it lacks.
"""

import concurrent.futures
import functools
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

SLOW_HEADERS = ("string", "chrono", "functional", "memory", "fmt/format.h", "sdbus-c++/sdbus-c++.h", "nlohmann/json.hpp",
                "CLI/CLI.hpp")
# A set of headers that fewer files include is not worth a precompiled header of its own.
FEW_FILES = 4
DIRECTIVE = re.compile(r'\s*#\s*(?:(if|endif)|include\s*(?:"([^"]+)"|<([^>]+)>))')


@functools.cache
def includes(path):
    """Returns the own and the system headers that a file includes itself, whatever is defined."""
    own, system, depth = [], [], 0
    with open(path, encoding="utf-8") as file:
        for condition, quoted, angled in (found.groups() for line in file if (found := DIRECTIVE.match(line))):
            depth += {"if": 1, "endif": -1}.get(condition, 0)
            if not depth and quoted:
                own.append(quoted)
            elif not depth and angled:
                system.append(angled)
    return own, system


class File:
    """A source file, and how it is compiled."""

    def __init__(self, entry):
        self.folder = entry["directory"]
        words = shlex.split(entry["command"])
        self.is_cpp = words[0].endswith("++")
        self.clang = shutil.which("clang++-14" if self.is_cpp else "clang-14")
        if self.clang:
            words[0] = self.clang
        if "-o" in words:
            place = words.index("-o")
            del words[place:place + 2]
        self.words = words
        # All that decides how Clang reads system headers.
        self.options = tuple(word for word in words if re.match("-(?!D|I|isystem$|c$)", word))
        self.slow_headers = self.system_headers(os.path.join(self.folder, entry["file"])) & frozenset(SLOW_HEADERS)

    def system_headers(self, path):
        """Returns the system headers that a file includes, itself or through own headers, whatever is defined."""
        folders = [os.path.join(self.folder, word[2:]) for word in self.words if re.match("-I.", word)]
        found, seen, left = frozenset(), set(), [path]
        while left:
            path = left.pop()
            seen.add(path)
            own, system = includes(path)
            found |= frozenset(system)
            for name in own:
                places = (os.path.join(folder, name) for folder in (os.path.dirname(path), *folders))
                left += [place for place in places if os.path.exists(place) and place not in seen][:1]
        return found

    def errors(self, plugins, precompiled):
        """Returns the messages of the compiler if the file does not compile, else an empty text."""
        words = [*self.words, "-fsyntax-only", "-w"]
        if self.clang and plugins:
            words[1:1] = [f"-fplugin={plugins}", "-Xclang", "-plugin", "-Xclang", "parse-only", "-fdelayed-template-parsing"]
        fitting = [key for key in precompiled if key[0] == self.options and key[1] <= self.slow_headers]
        if fitting:
            words[1:1] = ["-include-pch", precompiled[max(fitting, key=lambda key: len(key[1]))]]
        done = subprocess.run(words, cwd=self.folder, capture_output=True, text=True, check=False)
        return done.stderr if done.returncode else ""


def precompile(number, options, headers, folder):
    """Returns the file with what Clang reads in place of these headers, or None if it does not compile."""
    path = os.path.join(folder, f"{number}.hpp")
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"#include <{header}>\n" for header in SLOW_HEADERS if header in headers)
    words = ["clang++-14", *options, "-w", "-fdelayed-template-parsing", "-x", "c++-header", path, "-o", f"{path}.pch"]
    return f"{path}.pch" if subprocess.run(words, check=False, stderr=subprocess.DEVNULL).returncode == 0 else None


def precompile_all(files, folder, workers):
    """Returns the precompiled files that are worth it, each by the options and headers of its source files."""
    keys = [(file.options, file.slow_headers) for file in files if file.is_cpp and file.clang and file.slow_headers]
    wanted = [key for key in dict.fromkeys(keys) if keys.count(key) >= FEW_FILES]
    made = zip(wanted, workers.map(lambda row: precompile(row[0], *row[1], folder), enumerate(wanted)))
    return {key: path for key, path in made if path}


def main(folder, jobs, plugins=None):
    with open(os.path.join(folder, "compile_commands.json"), encoding="utf-8") as file:
        files = [File(entry) for entry in json.load(file)]
    with concurrent.futures.ThreadPoolExecutor(jobs) as workers, tempfile.TemporaryDirectory() as headers:
        precompiled = precompile_all(files, headers, workers)
        failures = [errors for errors in workers.map(lambda file: file.errors(plugins, precompiled), files) if errors]
    sys.stdout.writelines(failures)
    return 1 if failures or not files else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:]))
