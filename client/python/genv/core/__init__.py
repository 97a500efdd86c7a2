# SPDX-License-Identifier: LGPL-2.1-or-later
"""What programs written for genv 1 may still use of genv.core: the lock in genv.core.devices.

The rest of it read and wrote the files of genv 1. genv.sdk and genv.snapshot() replace it; see data/doc/python.md.
"""

from genv.core import devices

__all__ = ["devices"]
