# SPDX-License-Identifier: LGPL-2.1-or-later
"""Amounts of memory as users write them: a whole number and a unit, `b k m g` by 1000 and `ki mi gi` by 1024."""

from __future__ import annotations

import re
from typing import Dict

from genv.errors import InvalidArgs

_UNITS: Dict[str, int] = {
    "b": 1,
    "k": 1000,
    "m": 1000**2,
    "g": 1000**3,
    "ki": 1 << 10,
    "mi": 1 << 20,
    "gi": 1 << 30,
}
_AMOUNT = re.compile(r"([0-9]+)(b|k|m|g|ki|mi|gi)?", re.ASCII | re.IGNORECASE)
_MAX = (1 << 63) - 1


def parse(text: str) -> int:
    """Returns the number of bytes of a text such as "4g", "512mi" or "1024".

    Raises InvalidArgs for an invalid amount, for zero, and for an amount that is too large.
    """
    found = _AMOUNT.fullmatch(text) if len(text) <= 64 else None
    if found is None:
        raise InvalidArgs(
            f"invalid amount of memory {text[:64]!r}: expected a whole number and a unit (b, k, m, g, ki, mi, gi), "
            "such as 4g or 512mi"
        )
    amount = int(found.group(1)) * _UNITS[(found.group(2) or "b").lower()]
    if amount > _MAX:
        raise InvalidArgs(f"invalid amount of memory {text!r}: too large")
    if amount == 0:
        raise InvalidArgs(f"invalid amount of memory {text!r}: expected at least one byte")
    return amount


def text_of(amount: int) -> str:
    """Formats a number of bytes in the largest unit of which it is a multiple, such as "4g"."""
    if amount == 0:
        return "0"
    unit, size = max(((u, s) for u, s in _UNITS.items() if amount % s == 0), key=lambda item: item[1])
    return f"{amount // size}{unit}"
