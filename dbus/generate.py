#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Generates files from the interface XML that sdbus-c++-xml2cpp does not generate: the list of methods against which the
authorization table is checked; the properties of each interface, for code that reads all of them; the reference pages;
and the manual pages dev.genv.Manager(5) and dev.genv.Jobs(5).

Refuses writable properties: a property setter is answered at once, so no question to polkit could guard it.
"""

import argparse
import pathlib
import re
import sys
import typing
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

PROPERTIES_HEADER = """// Generated from the interface XML by dbus/generate.py; do not edit.
#pragma once

namespace genv::dbus {
"""

PROPERTIES = """
/// The properties of {interface}, read from an object that implements it; it names this a friend.
struct {name}Properties {{
    template <typename Object, typename Visitor>
    static void visit(Object& object, Visitor&& visitor) {{
{visits}    }}
}};
"""



class Page(typing.NamedTuple):
    """The texts of a reference page and a manual page around the members of their interfaces."""

    reference_preface: str
    manual_preface: str
    manual_end: str


MANAGER_REFERENCE = """# D-Bus interface of genv

The service owns the name `dev.genv.Manager` on the system bus. Its objects are `/dev/genv/Manager`, one
`/dev/genv/Manager/environment/<id>` for each environment, with the id escaped by `sd_bus_path_encode(3)`, and one
`/dev/genv/Manager/device/<index>` for each device. This page is generated from the interface XML.
"""


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


def members(interfaces):
    lines = [
        f'    MethodName{{"{interface.get("name")}", "{method.get("name")}"}},\n'
        for interface in interfaces
        for method in interface.findall("method")
    ]
    return HEADER + "".join(lines) + FOOTER


def properties(interfaces):
    parts = [PROPERTIES_HEADER]
    for interface in interfaces:
        name = interface.get("name")
        visits = "".join(f'        visitor("{prop.get("name")}", object.{prop.get("name")}());\n'
                         for prop in interface.findall("property"))
        parts.append(PROPERTIES.format(interface=name, name=name.rpartition(".")[2], visits=visits))
    return "".join(parts) + "\n} // namespace genv::dbus\n"


def signature(member):
    def side(direction):
        found = [arg for arg in member.findall("arg") if arg.get("direction", "out") == direction]
        return ", ".join(f"{arg.get('name')} `{arg.get('type')}`" for arg in found)

    if member.tag == "property":
        return f"`{member.get('type')}`"
    if member.tag == "signal":
        return ", ".join(f"{arg.get('name')} `{arg.get('type')}`" for arg in member.findall("arg")) or "no arguments"
    return f"{side('in') or 'no arguments'} → {side('out') or 'nothing'}"


def reference(page, interfaces):
    parts = [page.reference_preface]
    for interface in interfaces:
        parts.append(f"\n## {interface.get('name')}\n\n{interface.get('doc')}\n")
        for kind, title in (("method", "Methods"), ("signal", "Signals"), ("property", "Properties")):
            found = interface.findall(kind)
            if found:
                parts.append(f"\n### {title}\n")
            for member in found:
                parts.append(f"\n**{member.get('name')}**: {signature(member)}\n\n{member.get('doc')}\n")
    return "".join(parts)


MANAGER_PREFACE = r""".\" SPDX-License-Identifier: LGPL-2.1-or-later
.\" Generated from the interface XML by dbus/generate.py; do not edit.
.TH DEV.GENV.MANAGER 5 2026-11-21 "genv" "File formats"
.\" Names of options, settings and files must not be hyphenated.
.nh
.SH NAME
dev.genv.Manager, dev.genv.Environment, dev.genv.Device \- the D\-Bus interface of genv
.SH SYNOPSIS
.nf
busctl introspect dev.genv.Manager /dev/genv/Manager
busctl introspect dev.genv.Manager /dev/genv/Manager/environment/\fIID\fR
busctl introspect dev.genv.Manager /dev/genv/Manager/device/\fIINDEX\fR
.fi
.SH DESCRIPTION
.BR genvd (8)
owns the name
.B dev.genv.Manager
on the system bus.
Its objects are
.IR /dev/genv/Manager ,
one
.I /dev/genv/Manager/environment/ID
for each environment, with the ID escaped by
.BR sd_bus_path_encode (3),
and one
.I /dev/genv/Manager/device/INDEX
for each device.
.BR polkit (8)
decides whether a caller may call a method.
If polkit has to ask for a password, the call must carry the flag that allows interactive authorization.
"""

MANAGER_END = r""".SH ERRORS
Methods return the standard errors of D\-Bus and these errors:
.BR dev.genv.Error.NoSuchEnvironment ", " NoSuchDevice ", " NoSuchProcess ,
.BR DeviceUnavailable ", " NotEnoughDevices ", " AlreadyExists ,
.BR QuotaExceeded ", " NotAttached ", " NoSuchWait ", " Busy ,
.BR CannotPark ", " NotParked " and " NoHostMemory .
.SH "SEE ALSO"
.BR genvctl (1),
.BR genvd (8),
.BR busctl (1),
.BR polkit (8)
"""

JOBS_REFERENCE = """# D-Bus interface of genv-jobs

`genv-jobs` owns the name `dev.genv.Jobs` on the bus of its user and has one object, `/dev/genv/Jobs`. This page is
generated from the interface XML.
"""

JOBS_PREFACE = r""".\" SPDX-License-Identifier: LGPL-2.1-or-later
.\" Generated from the interface XML by dbus/generate.py; do not edit.
.TH DEV.GENV.JOBS 5 2026-11-27 "genv" "File formats"
.\" Names of options, settings and files must not be hyphenated.
.nh
.SH NAME
dev.genv.Jobs \- the D\-Bus interface of the jobs of a user
.SH SYNOPSIS
.nf
busctl \-\-user introspect dev.genv.Jobs /dev/genv/Jobs
.fi
.SH DESCRIPTION
.B genv\-jobs
owns the name
.B dev.genv.Jobs
on the bus of its user, which starts it for the first call.
It ends when no job waits or runs and no call has come for some seconds.
"""

JOBS_END = r""".SH ERRORS
Methods return the standard errors of D\-Bus and
.BR dev.genv.Error.NoSuchJob .
.SH "SEE ALSO"
.BR genvctl (1),
.BR dev.genv.Manager (5),
.BR busctl (1)
"""

PAGES = {
    "manager": Page(MANAGER_REFERENCE, MANAGER_PREFACE, MANAGER_END),
    "jobs": Page(JOBS_REFERENCE, JOBS_PREFACE, JOBS_END),
}


def roff(text):
    """Escapes text so that roff prints it unchanged: escapes, hyphens, and requests at the start of a line."""
    escaped = text.replace("\\", r"\e").replace("-", r"\-").replace("'", r"\(aq").replace("`", "")
    escaped = escaped.replace("µ", r"\(mc").replace("→", r"\(->")
    sentences = re.sub(r"(?<=[.:;]) (?=[A-Z])", "\n", escaped)
    return re.sub(r"(?m)^\.", r"\&.", sentences)


def manual_arguments(member):
    if member.tag == "property":
        return member.get("type")
    parts = []
    for arg in member.findall("arg"):
        direction = arg.get("direction") if member.tag == "method" else ""
        parts.append(" ".join(word for word in (direction, arg.get("type"), arg.get("name")) if word))
    return ", ".join(parts) or "no arguments"


def manual(page, interfaces):
    parts = [page.manual_preface]
    for interface in interfaces:
        name = interface.get("name")
        parts.append(f'.SH "INTERFACE {name}"\n{roff(interface.get("doc"))}\n')
        for kind, title in (("method", "Methods"), ("signal", "Signals"), ("property", "Properties")):
            found = interface.findall(kind)
            if found:
                parts.append(f'.SS "{title} of {name}"\n')
            for member in found:
                parts.append(f'.TP\n.BR {member.get("name")} " (\\fI{roff(manual_arguments(member))}\\fR)"\n'
                             f'{roff(member.get("doc"))}\n')
    return "".join(parts) + page.manual_end


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--members", type=pathlib.Path, help="list of the methods that need authorization")
    parser.add_argument("--properties", type=pathlib.Path)
    parser.add_argument("--page", choices=PAGES, required=True)
    parser.add_argument("--reference", type=pathlib.Path, required=True)
    parser.add_argument("--manual", type=pathlib.Path, required=True)
    parser.add_argument("xml", type=pathlib.Path, nargs="+")
    arguments = parser.parse_args()
    interfaces = [parse(path) for path in arguments.xml]
    for interface in interfaces:
        check(interface)
    page = PAGES[arguments.page]
    arguments.reference.parent.mkdir(parents=True, exist_ok=True)
    if arguments.members:
        arguments.members.write_text(members(interfaces), encoding="utf-8")
    if arguments.properties:
        arguments.properties.write_text(properties(interfaces), encoding="utf-8")
    arguments.reference.write_text(reference(page, interfaces), encoding="utf-8")
    arguments.manual.write_text(manual(page, interfaces), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
