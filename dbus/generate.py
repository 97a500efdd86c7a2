#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Generates from the interface XML what sdbus-c++-xml2cpp does not generate: the list of methods against which the
authorization table is checked; the properties of each interface, for code that reads all of them; adaptors that take
properties from a view, or from the values of sensors; the sensors with their names; the reference and manual pages.

Refuses writable properties: a property setter is answered at once, so no question to polkit could guard it.
"""

import argparse
import pathlib
import sys
import xml.etree.ElementTree as ElementTree

import headers
import pages


def parse(path):
    """Returns the interface of a file, with the comment of each element as its `doc`."""
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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--members", type=pathlib.Path, help="list of the methods that need authorization")
    parser.add_argument("--properties", type=pathlib.Path)
    parser.add_argument("--adaptors", type=pathlib.Path)
    parser.add_argument("--sensors", type=pathlib.Path)
    parser.add_argument("--page", choices=pages.PAGES, required=True)
    parser.add_argument("--reference", type=pathlib.Path, required=True)
    parser.add_argument("--manual", type=pathlib.Path, required=True)
    parser.add_argument("xml", type=pathlib.Path, nargs="+")
    arguments = parser.parse_args()
    interfaces = [parse(path) for path in arguments.xml]
    for interface in interfaces:
        check(interface)
    page = pages.PAGES[arguments.page]
    arguments.reference.parent.mkdir(parents=True, exist_ok=True)
    if arguments.members:
        arguments.members.write_text(headers.members(interfaces), encoding="utf-8")
    if arguments.properties:
        arguments.properties.write_text(headers.properties(interfaces), encoding="utf-8")
    if arguments.adaptors:
        arguments.adaptors.write_text(headers.adaptors(interfaces), encoding="utf-8")
    if arguments.sensors:
        arguments.sensors.parent.mkdir(parents=True, exist_ok=True)
        [interface] = [each for each in interfaces if headers.sensors(each)]
        arguments.sensors.write_text(headers.sensor_names(interface), encoding="utf-8")
    arguments.reference.write_text(pages.reference(page, interfaces), encoding="utf-8")
    arguments.manual.write_text(pages.manual(page, interfaces), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
