# SPDX-License-Identifier: LGPL-2.1-or-later
"""The pages that generate.py writes: the D-Bus reference, and dev.genv.Manager(5) and dev.genv.Jobs(5)."""

import re
import typing


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
