// SPDX-License-Identifier: LGPL-2.1-or-later
// The environment variables that carry an environment into a shell or a command.
#pragma once

#include "client/named_environment.hpp"
#include "genv/types.hpp"

#include <optional>
#include <string>
#include <vector>

namespace genv {
class Client;
}

namespace genv::ctl {

/// A variable that is to have a value, or none.
struct Variable {
    std::string name;
    std::optional<std::string> value;

    friend bool operator==(const Variable&, const Variable&) = default;
};

/// The folder with what stands in front of nvidia-smi, and of docker and podman as far as they are
/// on PATH: a command that is not there is not to seem so. Where PATH has such a folder, it is
/// that.
std::string shimsFolder();

/// LD_AUDIT with the NVML filter in front of what it is now. Throws Failure where the filter is not
/// installed: each program would complain of it.
Variable nvmlFilterVariable();

/// The environment that this process's variables name; nothing where there is no id, or what is no
/// id.
std::optional<client::NamedEnvironment> namedEnvironment();

/// GENV_ENVIRONMENT_CREATED.
Variable stampVariable(const Environment& environment);

/// The value of CUDA_VISIBLE_DEVICES: the attached indices, or the UUIDs where CUDA may have
/// `otherIndices`, and on a machine with MIG instances; "-1" when nothing is attached, which hides
/// every device.
std::string visibleDevices(const std::vector<Device>& machine,
                           const std::vector<std::uint32_t>& attached, bool otherIndices);

/// The same of an environment; asks the service for its devices, and whether CUDA has other
/// indices: while isolation is in force, and in a Slurm job, so in any environment within another.
std::string visibleDevices(Client& client, const std::string& id,
                           const std::vector<std::uint32_t>& attached);

/// GENV_ENVIRONMENT_NAME, GENV_GPU_MEMORY and GENV_GPUS.
std::vector<Variable> configurationVariables(const Configuration& configuration);

/// CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER.
std::vector<Variable> deviceVariables(std::string visible);

/// All of an environment's variables but GENV_SHELL and PATH. GENV_STATUS_FILE has a value where
/// the service writes that file.
std::vector<Variable> environmentVariables(const Environment& environment, std::string visible);

/// Sets the variables of this process by an environment, and puts the shims first in its PATH.
/// Throws Failure and Error.
void setOwnVariables(Client& client, const std::string& id, bool nvmlFilter);

} // namespace genv::ctl
