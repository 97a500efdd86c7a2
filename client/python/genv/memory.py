# SPDX-License-Identifier: LGPL-2.1-or-later
"""Amounts of memory as users write them: a whole number and a unit, such as 4g or 4gb (1000) and 4gi or 4gib (1024)."""

from __future__ import annotations

import re
from typing import Dict

from genv.errors import InvalidArgs

# The units that text_of() writes. genv 1 reads no others.
_WRITTEN: Dict[str, int] = {
    "b": 1,
    "k": 1000,
    "m": 1000**2,
    "g": 1000**3,
    "ki": 1 << 10,
    "mi": 1 << 20,
    "gi": 1 << 30,
}
_UNITS: Dict[str, int] = {
    **_WRITTEN,
    "t": 1000**4,
    "ti": 1 << 40,
    **{unit + "b": size for unit, size in _WRITTEN.items() if unit != "b"},
    "tb": 1000**4,
    "tib": 1 << 40,
}
_AMOUNT = re.compile(r"([0-9]+)([a-z]*)", re.ASCII | re.IGNORECASE)
_SMALLEST_WITHOUT_UNIT = 1 << 20
_MAX = (1 << 63) - 1


def parse(text: str) -> int:
    """Returns the number of bytes of a text such as "4g", "80gb" or "512mib".

    Raises InvalidArgs for an invalid amount, for zero, for an amount that is too large, and for less than 1 MiB
    without a unit, where the unit was most likely forgotten.
    """
    found = _AMOUNT.fullmatch(text) if len(text) <= 64 else None
    size = _UNITS.get(found.group(2).lower() or "b") if found else None
    if found is None or size is None:
        raise InvalidArgs(
            f"invalid amount of memory {text[:64]!r}: expected a whole number and a unit, such as 4g, 80gb or 512mib"
        )
    amount = int(found.group(1)) * size
    if amount > _MAX:
        raise InvalidArgs(f"invalid amount of memory {text!r}: too large")
    if amount == 0:
        raise InvalidArgs(f"invalid amount of memory {text!r}: expected at least one byte")
    if not found.group(2) and amount < _SMALLEST_WITHOUT_UNIT:
        raise InvalidArgs(
            f"invalid amount of memory {text!r}: expected a unit; without one, it means bytes. "
            f"Did you mean {text}{'g' if amount < 1000 else 'm'}?"
        )
    return amount


def text_of(amount: int) -> str:
    """Formats a number of bytes in the largest unit of which it is a multiple, such as "4g"."""
    if amount == 0:
        return "0"
    unit, size = max(((u, s) for u, s in _WRITTEN.items() if amount % s == 0), key=lambda item: item[1])
    return f"{amount // size}{unit}"
