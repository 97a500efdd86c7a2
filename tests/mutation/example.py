# SPDX-License-Identifier: LGPL-2.1-or-later
"""Candidates for the tests in this folder."""

import kinds


def candidate(file="core/a.cpp", begin=0, end=1, kind="logic", line=1, original="a && b", mutated="a || b", form="expression"):
    return kinds.Candidate(file, line, line, begin, end, kind, form, original, mutated)
