# SPDX-License-Identifier: LGPL-2.1-or-later
"""Says what to use in place of this module of genv 1."""

raise ImportError("genv.ray of genv 1 is not part of this genv: call genv.sdk.activate() in the task or actor")
