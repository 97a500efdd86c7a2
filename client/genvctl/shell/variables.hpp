// SPDX-License-Identifier: LGPL-2.1-or-later
// The environment variables that pass an environment to a shell or a command.
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

/// A variable to set or to unset.
struct Variable {
    std::string name;
    std::optional<std::string> value;

    friend bool operator==(const Variable&, const Variable&) = default;
};

/// Returns LD_AUDIT with the NVML filter in front of its present value. Throws Failure if the
/// filter is not installed, because every program would print an error.
Variable nvmlFilterVariable();

/// Returns the environment named by this process's variables, or nothing if there is no id or an
/// invalid one.
std::optional<client::NamedEnvironment> namedEnvironment();

/// Returns GENV_ENVIRONMENT_CREATED.
Variable stampVariable(std::string stamp);

/// Returns the value of CUDA_VISIBLE_DEVICES: the attached indices, or the UUIDs if CUDA may have
/// `otherIndices` or the machine has MIG instances. Returns "-1" if nothing is attached, which
/// hides every device.
std::string visibleDevices(const std::vector<Device>& machine,
                           const std::vector<std::uint32_t>& attached, bool otherIndices);

/// The same for an environment. Requests its devices from the service, and whether CUDA has other
/// indices. It does while isolation is in force, and in a Slurm job, and therefore in any nested
/// environment.
std::string visibleDevices(Client& client, const std::string& id,
                           const std::vector<std::uint32_t>& attached);

/// Returns GENV_ENVIRONMENT_NAME, GENV_GPU_MEMORY and GENV_GPUS.
std::vector<Variable> configurationVariables(const Configuration& configuration);

/// Returns CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER.
std::vector<Variable> deviceVariables(std::string visible);

/// Returns all variables of an environment except GENV_SHELL and PATH. GENV_STATUS_FILE is set only
/// if the service writes that file.
std::vector<Variable> environmentVariables(const Environment& environment, std::string visible);

/// Sets the variables of this process for an environment, and puts the shims first in PATH. Throws
/// Failure and Error.
void setOwnVariables(Client& client, const std::string& id, bool nvmlFilter);

/// An environment that this process has started.
struct StartedEnvironment {
    std::string id;
    Configuration configuration;
    Time requested; ///< a time before it was created
};

/// Returns environmentVariables() by the status file, or nothing if the service has not written it.
std::optional<std::vector<Variable>> startedVariables(const StartedEnvironment& started);

/// Sets the variables of this process for an environment that it has started. Asks the service only
/// without a status file.
void setOwnVariables(Client& client, const StartedEnvironment& started, bool nvmlFilter);

} // namespace genv::ctl
