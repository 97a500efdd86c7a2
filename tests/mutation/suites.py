# SPDX-License-Identifier: LGPL-2.1-or-later
"""The test suites of a build, as ctest lists them: each suite of a GoogleTest program, and each test on a bus."""

import dataclasses
import pathlib
import re
import typing

NAMES = re.compile(r"^(?:(?:core|policy|dbus|service|gpu|bus|faults|history|hostile)\.(?!.*(?:broker|floods))|client\.bus\.enforcement$)")
# Other tests compare texts, and run no code of genvd.
LABELS = {"unit", "bus", "tsan", "bpf", "fuse"}
CASE = re.compile(r"^--gtest_filter=([^:*]+)\.[^.:*]+$")


@dataclasses.dataclass(frozen=True)
class Suite:
    """A command that fails if one of some tests does."""

    name: str
    command: "tuple[str, ...]"
    folder: str
    variables: "tuple[str, ...]" = ()
    on_bus: bool = False


def properties_of(test: "dict[str, typing.Any]") -> "dict[str, typing.Any]":
    return {row["name"]: row["value"] for row in test.get("properties", [])}


def is_built(command: "typing.Sequence[str]", build: str) -> bool:
    """Returns whether all files that a command names in the build exist."""
    return all(pathlib.Path(word).exists() for word in command if word.startswith(build + "/"))


def suites(tests: "list[dict[str, typing.Any]]", build: str, with_bus: bool) -> "list[Suite]":
    """Returns the suites in a listing of ctest that are built, sorted by name, and without those on a bus if
    `with_bus` is False."""
    found = {}
    for test in tests:
        command = test.get("command")
        if not command or not NAMES.match(test["name"]) or not is_built(command, build):
            continue
        properties = properties_of(test)
        labels = properties.get("LABELS", ())
        if LABELS.isdisjoint(labels):
            continue
        folder = properties.get("WORKING_DIRECTORY", build)
        variables = tuple(properties.get("ENVIRONMENT", ()))
        on_bus = "bus" in labels
        case = CASE.match(command[1]) if len(command) > 1 and not on_bus else None
        if case:
            name = f"{pathlib.PurePath(command[0]).name}: {case.group(1)}"
            found[name] = Suite(name, (command[0], f"--gtest_filter={case.group(1)}.*"), folder, variables)
        elif with_bus or not on_bus:
            found[test["name"]] = Suite(test["name"], tuple(command), folder, variables, on_bus)
    return [found[name] for name in sorted(found)]
