# SPDX-License-Identifier: LGPL-2.1-or-later
"""The version of the package, which is that of the service it comes with (a test compares the two)."""

__version__ = "2.0.0"
