#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every text that a user reads has American spelling: documents, manual pages, messages, help texts, the interface
reference, the journal's catalog, polkit's questions, configuration files, and the Cockpit page. Each fault is listed
with its file.

usage: spelling_test.py SOURCE
"""

import os
import pathlib
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
sys.dont_write_bytecode = True

from markdown import pages, prose  # noqa: E402
from messages_test import sources, texts  # noqa: E402

STEMS_ISE = """anonym apolog author capital categor central character critic custom emphas external familiar final general
    harmon initial internal local maxim memor minim modern normal optim organ parallel penal popular priorit random real
    recogn sanit serial special stabil standard summar symbol synchron token util virtual visual""".split()
BRITISH = re.compile(rf"""(?x)(?<![a-z])(?:un|re|de|dis|mis)?(?:
    (?:{"|".join(STEMS_ISE)})is(?:e[ds]?|ers?|ing|ations?|able)
    | analys(?:e|ed|er|ers|ing) | (?:cata|ana|dia)logue[ds]?
    | (?:arm|behavi|col|endeav|fav|flav|harb|hon|hum|lab|neighb|rum|vap|vig)our(?:s|ed|ing|able|ites?|al|less|ful|hoods?)*
    | (?:cent|fib|lit|met|theat)re[ds]?
    | (?:cancel|channel|dial|equal|fuel|label|level|marshal|model|signal|total|travel|tunnel)l(?:ed|ing|ers?)
    | (?:de|of)fences? | licence[ds]? | pretence | practis(?:e[ds]?|ing) | programmes? | artefacts?
    | (?:acknowledge|judge)ments? | ageing | grey(?:s|ed)? | amongst | whilst | learnt | spelt | burnt
    | fulfil | enrol | instalments? | skilful | wilful | sceptical | aluminium | cheques?
    )(?![a-z])""", re.I)

# Names in programs, which stay as they are.
NAMES = {
    "cancelled": "the reason of an ended wait, on the bus, in JSON and in the journal's GENV_REASON",
    "CANCELLED": "a state of a job in Slurm",
    "not-authorised": "a value in the JSON of genvctl remote",
}
# Files whose lines are text as a whole. Names are in bold or italics in manual pages, and in quotes elsewhere.
LINES = ("data/man/*", "data/conf/*", "data/journal/*", "data/polkit/*", "data/metainfo/*", "data/prometheus/*",
         "data/grafana/*", "data/shell/*", "data/completions/*", "data/debian/control", "client/cockpit/*.html", "dbus/*.xml")
# Names of variables, headers and attributes in literals.
IDENTIFIERS = re.compile(r"\{[^{}]*\}|[\w/]+\.hpp|aria-labelledby")
QUOTED = re.compile(r"\\f[BI][^\\]*\\f[RP]|\"[\w-]+\"|`[^`]*`")


def faults(where, text):
    return [f'{where}: "{found[0]}" is British: "{" ".join(text.split())[:90]}"' for found in BRITISH.finditer(text)
            if text not in NAMES]


def without_names(line):
    return QUOTED.sub(lambda found: " " if re.sub(r"\\f.", "", found[0]).strip('"`') in NAMES else found[0], line)


def documents(root):
    for page in pages(root):
        name = page.path.relative_to(root)
        for number, text in [*page.paragraphs(), *page.comments()]:
            yield f"{name}:{number}", prose(text)
        for heading in page.headings:
            yield name, heading


def lines(root):
    for pattern in LINES:
        for path in sorted(root.glob(pattern)):
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines() if path.is_file() else [], 1):
                yield f"{path.relative_to(root)}:{number}", without_names(line)


def literals(root):
    page = [path for path in sorted(root.glob("client/cockpit/**/*.js")) if not path.name.startswith("po.")]
    for path in [*sources(root), *page]:
        for text in texts(path, shortest=1, longest=sys.maxsize):
            yield path.relative_to(root), IDENTIFIERS.sub("", text)


def main():
    root = pathlib.Path(sys.argv[1])
    read = [*documents(root), *lines(root), *literals(root)]
    found = [fault for where, text in read for fault in faults(where, text)]
    print("\n".join(dict.fromkeys(found)) if found else f"{len(read)} texts read, all of them American")
    return 1 if found or len(read) < 5000 else 0


if __name__ == "__main__":
    sys.exit(main())
