# SPDX-License-Identifier: LGPL-2.1-or-later
"""The environment variables of this process that carry its environment."""

from __future__ import annotations

import os
from typing import Dict, Optional

from genv import contract
from genv.service import EnvironmentState

#: Their values, None for one that is unset.
Values = Dict[str, Optional[str]]

_ALL = (
    contract.PYTHON_VARIABLE,
    contract.ENVIRONMENT_ID_VARIABLE,
    contract.CREATED_VARIABLE,
    contract.STATUS_FILE_VARIABLE,
    contract.NAME_VARIABLE,
    contract.GPU_MEMORY_VARIABLE,
    contract.GPUS_VARIABLE,
    contract.VISIBLE_DEVICES_VARIABLE,
    contract.DEVICE_ORDER_VARIABLE,
)


def saved() -> Values:
    """What they are now, for put()."""
    return {name: os.environ.get(name) for name in _ALL}


def put(values: Values) -> None:
    """Makes them so."""
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def environment_id() -> Optional[str]:
    """The id in GENV_ENVIRONMENT_ID; None when there is none or it is no id."""
    eid = os.environ.get(contract.ENVIRONMENT_ID_VARIABLE, "")
    return eid if contract.is_identifier(eid) else None


def stamp() -> Optional[str]:
    """The stamp in GENV_ENVIRONMENT_CREATED: which of the environments that had the id is meant. None without one."""
    return os.environ.get(contract.CREATED_VARIABLE) or None


def of_activation(environment: EnvironmentState) -> Values:
    """What says that there is an environment. The file is named where the service writes it."""
    path = os.path.join(contract.STATUS_FOLDER, contract.path_label(environment.eid))
    return {
        contract.PYTHON_VARIABLE: "1",
        contract.ENVIRONMENT_ID_VARIABLE: environment.eid,
        contract.CREATED_VARIABLE: str(environment.created),
        contract.STATUS_FILE_VARIABLE: path if os.access(path, os.R_OK) else None,
    }


def of_configuration(environment: EnvironmentState) -> Values:
    """What it wants."""
    return {
        contract.NAME_VARIABLE: environment.name,
        contract.GPU_MEMORY_VARIABLE: environment.gpu_memory_text(),
        contract.GPUS_VARIABLE: None if environment.gpus is None else str(environment.gpus),
    }


def of_devices(visible: str) -> Values:
    """What it has. Without the order, CUDA counts by speed and the driver by bus: a number would be two devices."""
    return {contract.VISIBLE_DEVICES_VARIABLE: visible, contract.DEVICE_ORDER_VARIABLE: "PCI_BUS_ID"}
