# SPDX-License-Identifier: LGPL-2.1-or-later
"""The functions of genv.sdk that concern its devices, under the module name that genv 1 gave them."""

from genv.sdk import attach, attached, detach, lock, refresh_attached

__all__ = ["attach", "attached", "detach", "lock", "refresh_attached"]
