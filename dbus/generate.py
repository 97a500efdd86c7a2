#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Generates from the interface XML what sdbus-c++-xml2cpp does not: the list of methods that the
authorisation table is checked against, and the reference page.

Refuses writable properties: a property setter is answered at once, so no question to polkit could guard it.
"""

import argparse
import pathlib
import sys
import xml.etree.ElementTree as ElementTree

HEADER = """// Generated from the interface XML by dbus/generate.py; do not edit.
#pragma once

#include <array>
#include <string_view>

namespace genv::dbus {

/// A method of the interface XML.
struct MethodName {
    std::string_view interface;
    std::string_view member;
};

/// Every method that the service exports.
inline constexpr std::array methods{
"""

FOOTER = """};

} // namespace genv::dbus
"""

PREFACE = """# D-Bus interface of genv

The service owns `dev.genv.Manager` on the system bus. Its objects are `/dev/genv/Manager`, one
`/dev/genv/Manager/environment/<id>` for each environment (the id escaped as `sd_bus_path_encode(3)` does) and one
`/dev/genv/Manager/device/<index>` for each device. This page is generated from the interface XML.
"""


def parse(path):
    """The interface of a file, with each element's comment as its `doc`."""
    parser = ElementTree.XMLParser(target=ElementTree.TreeBuilder(insert_comments=True))
    root = ElementTree.parse(path, parser).getroot()
    document(root)
    return root.find("interface")


def document(parent):
    comment = ""
    for child in parent:
        if child.tag is ElementTree.Comment:
            comment = " ".join(child.text.split())
            continue
        child.set("doc", comment)
        comment = ""
        document(child)


def check(interface):
    for prop in interface.findall("property"):
        if prop.get("access") != "read":
            raise SystemExit(f"{interface.get('name')}.{prop.get('name')}: properties are read-only")
    for member in interface:
        if member.tag in {"method", "signal", "property"} and not member.get("doc"):
            raise SystemExit(f"{interface.get('name')}.{member.get('name')}: no documentation")


def members(interfaces):
    lines = [
        f'    MethodName{{"{interface.get("name")}", "{method.get("name")}"}},\n'
        for interface in interfaces
        for method in interface.findall("method")
    ]
    return HEADER + "".join(lines) + FOOTER


def signature(member):
    def side(direction):
        found = [arg for arg in member.findall("arg") if arg.get("direction", "out") == direction]
        return ", ".join(f"{arg.get('name')} `{arg.get('type')}`" for arg in found)

    if member.tag == "property":
        return f"`{member.get('type')}`"
    if member.tag == "signal":
        return ", ".join(f"{arg.get('name')} `{arg.get('type')}`" for arg in member.findall("arg")) or "no arguments"
    return f"{side('in') or 'no arguments'} → {side('out') or 'nothing'}"


def reference(interfaces):
    parts = [PREFACE]
    for interface in interfaces:
        parts.append(f"\n## {interface.get('name')}\n\n{interface.get('doc')}\n")
        for kind, title in (("method", "Methods"), ("signal", "Signals"), ("property", "Properties")):
            found = interface.findall(kind)
            if found:
                parts.append(f"\n### {title}\n")
            for member in found:
                parts.append(f"\n**{member.get('name')}**: {signature(member)}\n\n{member.get('doc')}\n")
    return "".join(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--members", type=pathlib.Path, required=True)
    parser.add_argument("--reference", type=pathlib.Path, required=True)
    parser.add_argument("xml", type=pathlib.Path, nargs="+")
    arguments = parser.parse_args()
    interfaces = [parse(path) for path in arguments.xml]
    for interface in interfaces:
        check(interface)
    arguments.members.parent.mkdir(parents=True, exist_ok=True)
    arguments.members.write_text(members(interfaces), encoding="utf-8")
    arguments.reference.write_text(reference(interfaces), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
