# SPDX-License-Identifier: LGPL-2.1-or-later
"""The functions of genv.sdk that concern the environment itself, under the module name that genv 1 gave them."""

from genv.sdk import (
    activate,
    active,
    configuration,
    configure,
    eid,
    home,
    load_configuration,
    refresh_configuration,
    save_configuration,
)

__all__ = [
    "activate",
    "active",
    "configuration",
    "configure",
    "eid",
    "home",
    "load_configuration",
    "refresh_configuration",
    "save_configuration",
]
