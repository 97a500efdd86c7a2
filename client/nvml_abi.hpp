// SPDX-License-Identifier: LGPL-2.1-or-later
// NVML's binary interface for the shims, which reach core only through the client.
#pragma once

#include "core/model/nvml_abi.hpp"
