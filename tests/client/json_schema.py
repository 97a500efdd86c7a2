# SPDX-License-Identifier: LGPL-2.1-or-later
"""Checks JSON of the client against the tables of keys in client/genvctl/objects, and the sensors of the XML."""

import json
import pathlib
import re

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
TABLES = SOURCE / "client" / "genvctl" / "objects"
SENSOR = r'"dev\.genv\.Sensor" value="(\w+)"'
TABLE = re.compile(r"^inline constexpr (?:std::array|auto) (\w+)(?:\{| = joined\()\n(.*?)^(?:\};| {4}\}\);)",
                   re.M | re.S)
SIMPLE = {"text": str, "integer": int, "time": int, "number": (int, float), "boolean": bool}


def things():
    """Returns the types of the keys of each thing."""
    found = {}
    sensors = re.findall(SENSOR, (SOURCE / "dbus" / "dev.genv.Device.xml").read_text(encoding="utf-8"))
    rows = "".join(f'Key{{"{sensor}", "integer"}}\n' for sensor in sensors)
    for header in TABLES.glob("*.hpp"):
        for name, table in TABLE.findall(re.sub(r"^ +sensors,$", rows, header.read_text(encoding="utf-8"), flags=re.M)):
            found[name] = dict(re.findall(r'Key\{"(\w+)",\s*"([\w ]+)"', table))
            assert len(found[name]) == table.count("Key{"), name
    return found


THINGS = things()


def check(value, kind, place=""):
    """Asserts that a value is of this type: a type of the page, or a thing, or a list of one of these."""
    place = place or kind
    if kind.startswith("list of "):
        assert isinstance(value, list), f"{place}: {value!r}"
        for number, each in enumerate(value):
            check(each, kind.removeprefix("list of "), f"{place}[{number}]")
    elif kind == "texts":
        assert all(isinstance(text, str) for pair in value.items() for text in pair), f"{place}: {value!r}"
    elif kind in SIMPLE:
        assert isinstance(value, SIMPLE[kind]) and isinstance(value, bool) == (kind == "boolean") and value != "", f"{place}: {value!r}"
    else:
        assert list(value) == list(THINGS[kind]), f"{place}: the keys are {list(value)}"
        for key, inner in THINGS[kind].items():
            if value[key] is not None:
                check(value[key], inner, f"{place}.{key}")
    return value


def read(text, kind):
    """Returns JSON of this type."""
    return check(json.loads(text), kind)
