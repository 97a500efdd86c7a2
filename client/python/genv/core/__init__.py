# SPDX-License-Identifier: LGPL-2.1-or-later
"""The part of genv.core that programs written for genv 1 can still use: the lock in genv.core.devices.

The rest of it read and wrote the files of genv 1. genv.sdk and genv.snapshot() replace it; see data/doc/python.md.
"""

from genv.core import devices

__all__ = ["devices"]
