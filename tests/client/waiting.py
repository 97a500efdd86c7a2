# SPDX-License-Identifier: LGPL-2.1-or-later
"""Waits for expected events without assuming how long they take."""

import time

DEADLINE_SECONDS = 120  # enough for any event, however busy the machine
BETWEEN_QUESTIONS_SECONDS = 0.02


def until(condition, what, deadline_seconds=DEADLINE_SECONDS):
    """Calls a function again and again, and returns the first true result. Fails with `what` if there is none."""
    deadline = time.monotonic() + deadline_seconds
    while not (answer := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not come; the last answer was {answer!r}")
        time.sleep(BETWEEN_QUESTIONS_SECONDS)
    return answer
