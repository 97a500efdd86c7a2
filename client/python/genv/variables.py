# SPDX-License-Identifier: LGPL-2.1-or-later
"""The environment variables of this process that describe its genv environment."""

from __future__ import annotations

import os
from typing import Dict, Optional

from genv import contract
from genv.service import EnvironmentState

#: The values of the variables, with None for an unset one.
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
    """Returns the current values, for put()."""
    return {name: os.environ.get(name) for name in _ALL}


def put(values: Values) -> None:
    """Sets and unsets the variables."""
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def environment_id() -> Optional[str]:
    """Returns the id in GENV_ENVIRONMENT_ID, or None if there is none or it is not a valid id."""
    eid = os.environ.get(contract.ENVIRONMENT_ID_VARIABLE, "")
    return eid if contract.is_identifier(eid) else None


def stamp() -> Optional[str]:
    """Returns GENV_ENVIRONMENT_CREATED, which distinguishes environments that had the same id, or None."""
    return os.environ.get(contract.CREATED_VARIABLE) or None


def of_activation(environment: EnvironmentState) -> Values:
    """Returns the variables of an activation. The status file is named if the service writes it."""
    path = os.path.join(contract.STATUS_FOLDER, contract.path_label(environment.eid))
    return {
        contract.PYTHON_VARIABLE: "1",
        contract.ENVIRONMENT_ID_VARIABLE: environment.eid,
        contract.CREATED_VARIABLE: str(environment.created),
        contract.STATUS_FILE_VARIABLE: path if os.access(path, os.R_OK) else None,
    }


def of_configuration(environment: EnvironmentState) -> Values:
    """Returns the variables of the configuration."""
    return {
        contract.NAME_VARIABLE: environment.name,
        contract.GPU_MEMORY_VARIABLE: environment.gpu_memory_text(),
        contract.GPUS_VARIABLE: None if environment.gpus is None else str(environment.gpus),
    }


def of_devices(visible: str) -> Values:
    """Returns the variables of the devices. Without the order, CUDA sorts devices by speed and the driver by bus
    address."""
    return {contract.VISIBLE_DEVICES_VARIABLE: visible, contract.DEVICE_ORDER_VARIABLE: "PCI_BUS_ID"}
