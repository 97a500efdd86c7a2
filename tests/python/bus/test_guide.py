# SPDX-License-Identifier: LGPL-2.1-or-later
"""The examples of data/doc/python.md, unchanged."""

import os
import re

import pytest

GUIDE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "..", "data", "doc", "python.md")
with open(GUIDE, encoding="utf-8") as guide:
    EXAMPLES = re.findall(r"(?ms)^```python\n(.*?)^```$", guide.read())
# The last line of each example; None for an example that need not print anything.
EXPECTED = [r"\d+ \[0\]", r"\[0, 0\]", r"\[0, 1\] Env\.Config\(name='evaluation', gpu_memory=None, gpus=2\)",
            r"step 2 alone on \[0\]", r"Requested more devices \(1000\) than total available \(4\)", r'\{"processes": .*\}',
            r"\[93(, 93)*\]", None]


class TestGuide:
    def test_each_example_is_known_here(self):
        assert len(EXAMPLES) == len(EXPECTED)

    @pytest.mark.parametrize("example, expected", zip(EXAMPLES, EXPECTED), ids=range(len(EXPECTED)))
    def test_it_runs(self, world, example, expected):
        lines = world.run("alice", example)
        assert (lines[-1:] == []) if expected is None else re.fullmatch(expected, lines[-1]), lines
