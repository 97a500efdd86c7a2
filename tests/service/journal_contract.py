# SPDX-License-Identifier: LGPL-2.1-or-later
"""The journal's contract for programs and for users: the header, and the description of each kind in genvd(8)."""

import re


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Header:
    """Parses service/journal/contract.hpp: kinds with their ids, and names of fields."""

    def __init__(self, path):
        text = read(path)
        self.kinds = dict(re.findall(r'Kind\{"([a-z-]+)", "([0-9a-f]{32})"\}', text))
        self.fields = re.findall(r'"(GENV_[A-Z_]+)"', text)


class Manual:
    """Parses the section on the journal: the id of each kind and its required and optional fields. Every field is
    described."""

    def __init__(self, path):
        section = re.search(r"(?ms)^\.SH JOURNAL\n(.*?)^\.SH", read(path)).group(1).replace("\\-", "-")
        kinds, fields = re.search(r"(?ms)^\.SS Kinds\n(.*)^\.SS Fields\n(.*)", section).groups()
        self.ids, self.required, self.optional = {}, {}, {}
        for name, text in re.findall(r"(?ms)^\.TP\n\.B ([a-z-]+)\n(.*?)(?=^\.TP|\Z)", kinds):
            self.ids[name] = re.search(r"(?m)^MESSAGE_ID=(\w+)$", text).group(1)
            names = re.search(r"(?m)^\[?GENV_.*$", text).group(0).split(", ")
            self.required[name] = {n for n in names if not n.startswith("[")}
            self.optional[name] = {n[1:-1] for n in names if n.startswith("[")}
        self.fields = re.findall(r"(?m)^\.TP\n\.B (\w+)$", fields)
