# SPDX-License-Identifier: LGPL-2.1-or-later
"""Amounts of memory as people write them: a whole number and a unit, `b k m g` by 1000 and `ki mi gi` by 1024."""

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
_MOST = (1 << 63) - 1


def parse(text: str) -> int:
    """The bytes that a text such as "4g", "512mi" or "1024" means.

    Raises InvalidArgs for what is no amount, for none at all, and for more than can be counted.
    """
    found = _AMOUNT.fullmatch(text) if len(text) <= 64 else None
    if found is None:
        raise InvalidArgs(
            f"invalid amount of memory {text[:64]!r}: expected a whole number and a unit (b, k, m, g, ki, mi, gi), "
            "such as 4g or 512mi"
        )
    amount = int(found.group(1)) * _UNITS[(found.group(2) or "b").lower()]
    if amount > _MOST:
        raise InvalidArgs(f"{text!r} is more memory than can be counted")
    if amount == 0:
        raise InvalidArgs("an amount of memory must be at least one byte")
    return amount


def text_of(amount: int) -> str:
    """An amount of bytes in the largest unit that it is a whole number of, such as "4g"."""
    if amount == 0:
        return "0"
    unit, size = max(((u, s) for u, s in _UNITS.items() if amount % s == 0), key=lambda item: item[1])
    return f"{amount // size}{unit}"
