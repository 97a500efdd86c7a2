# SPDX-License-Identifier: LGPL-2.1-or-later
"""Waiting for what must come about, without a guess at how long that takes."""

import time

DEADLINE_SECONDS = 120  # nothing takes so long, on however busy a machine
BETWEEN_QUESTIONS_SECONDS = 0.02


def until(condition, what, deadline_seconds=DEADLINE_SECONDS):
    """Asks again and again, and returns the first true answer; fails with `what` did not come."""
    deadline = time.monotonic() + deadline_seconds
    while not (answer := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not come; the last answer was {answer!r}")
        time.sleep(BETWEEN_QUESTIONS_SECONDS)
    return answer
