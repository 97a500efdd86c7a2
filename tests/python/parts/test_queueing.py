# SPDX-License-Identifier: LGPL-2.1-or-later
"""What genv.queue() makes of the rows of the service."""

import pytest

import genv
from genv import queueing

ROW = {"ticket": ("t", 3), "environment": ("s", "58"), "uid": ("u", 1001), "count": ("u", 2), "since": ("t", 1_000_000),
       "waits-for": ("s", "devices")}


def test_a_request_of_an_earlier_service_takes_nothing():
    wait = queueing._wait(ROW)
    assert (wait.resumes, wait.taking) == (False, [])


def test_a_request_names_what_is_parked_for_it():
    taking = [("7", "training", "alice", 12 << 30, 6_000_000), ("8", "", "carol", 0, 6_000_000)]
    wait = queueing._wait({**ROW, "resumes": ("b", True), "taking": ("a(ssstt)", taking)})
    assert wait.resumes
    assert wait.taking == [genv.Taken("7", "training", "alice", 12 << 30), genv.Taken("8", None, "carol", 0)]


def test_a_row_of_another_form_is_refused():
    with pytest.raises(genv.Failed):
        queueing._wait({**ROW, "taking": ("as", ["7"])})
