// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/shell/variables.hpp"

#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/shell/shims_folder.hpp"
#include "client/genvctl/shell/status_file.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"
#include "client/search_path.hpp"
#include "core/base/text.hpp"
#include "core/model/visible_devices.hpp"
#include "genv/client.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace genv::ctl {

namespace {

void setVariables(const std::vector<Variable>& variables) {
    for (const auto& [name, value] : variables) {
        if (value)
            setenv(name.c_str(), value->c_str(), 1);
        else
            unsetenv(name.c_str());
    }
}

} // namespace

Variable nvmlFilterVariable() {
    if constexpr (!GENV_WITH_SHIMS)
        throw Failure(ExitStatus::Failed, "this build of genv has no NVML filter",
                      "Build genv with -DGENV_WITH_SHIMS=ON, or leave --nvml-filter out.");
    const std::string filter = shimsFolder() + "/libgenv-nvml-filter.so";
    if (access(filter.c_str(), R_OK) != 0)
        throw Failure(ExitStatus::Failed, fmt::format("The NVML filter is missing: {}", filter),
                      "Install genv completely, or leave --nvml-filter out.");
    std::string value = filter;
    const char* before = std::getenv("LD_AUDIT");
    std::istringstream libraries(before != nullptr ? before : "");
    for (std::string library; std::getline(libraries, library, ':');) {
        if (!library.empty() && library != filter)
            value += ':' + library;
    }
    return {"LD_AUDIT", value};
}

std::optional<client::NamedEnvironment> namedEnvironment() {
    auto named = client::namedEnvironment();
    if (named && !core::isIdentifier(named->id))
        return std::nullopt;
    return named;
}

Variable stampVariable(std::string stamp) {
    return {"GENV_ENVIRONMENT_CREATED", std::move(stamp)};
}

namespace {

bool hasInstances(const std::vector<Device>& machine) {
    return std::any_of(machine.begin(), machine.end(),
                       [](const Device& device) { return core::isInstanceUuid(device.uuid); });
}

} // namespace

std::string visibleDevices(const std::vector<Device>& machine,
                           const std::vector<std::uint32_t>& attached, bool otherIndices) {
    const bool namesUuids = otherIndices || hasInstances(machine);
    std::vector<core::CudaVisibleDevice> visible;
    for (const std::uint32_t index : attached) {
        const auto device = std::find_if(machine.begin(), machine.end(),
                                         [&](const Device& d) { return d.index == index; });
        if (device != machine.end())
            visible.push_back({index, device->uuid});
        else if (!namesUuids)
            visible.push_back({index, {}});
    }
    return core::visibleDevices(std::move(visible), namesUuids);
}

std::string visibleDevices(Client& client, const std::string& id,
                           const std::vector<std::uint32_t>& attached) {
    if (attached.empty())
        return visibleDevices({}, {}, false);
    const std::vector<Device> machine = client.devices();
    const bool namesUuids = !hasInstances(machine) &&
                            (client.isolation().mode != "none" || client.environment(id).parent);
    return visibleDevices(machine, attached, namesUuids);
}

std::vector<Variable> configurationVariables(const Configuration& configuration) {
    std::vector<Variable> variables{
        {"GENV_ENVIRONMENT_NAME", configuration.name}, {"GENV_GPU_MEMORY", {}}, {"GENV_GPUS", {}}};
    if (configuration.gpuMemoryBytes)
        variables[1].value = amount(*configuration.gpuMemoryBytes);
    if (configuration.gpus)
        variables[2].value = std::to_string(*configuration.gpus);
    return variables;
}

std::vector<Variable> deviceVariables(std::string visible) {
    // Without this order, CUDA sorts devices by speed and the driver sorts them by bus address, so
    // the same index could mean two devices.
    return {{"CUDA_VISIBLE_DEVICES", std::move(visible)}, {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}};
}

namespace {

std::vector<Variable> variablesOf(const std::string& id, std::string stamp,
                                  const Configuration& configuration, std::string visible) {
    std::vector<Variable> variables{{"GENV_ENVIRONMENT_ID", id},
                                    stampVariable(std::move(stamp)),
                                    {"GENV_STATUS_FILE", statusFile(id)}};
    const auto chosen = configurationVariables(configuration);
    variables.insert(variables.end(), chosen.begin(), chosen.end());
    const auto devices = deviceVariables(std::move(visible));
    variables.insert(variables.end(), devices.begin(), devices.end());
    return variables;
}

// Returns the time of a stamp. Any other text counts as the epoch.
Time timeOf(const std::string& stamp) {
    std::int64_t microseconds = 0;
    std::from_chars(stamp.data(), stamp.data() + stamp.size(), microseconds);
    return Time(std::chrono::microseconds(microseconds));
}

void setOwn(const std::vector<Variable>& variables, bool nvmlFilter) {
    setVariables(variables);
    if (nvmlFilter)
        setVariables({nvmlFilterVariable()});
    putShimsFirst();
}

} // namespace

std::vector<Variable> environmentVariables(const Environment& environment, std::string visible) {
    return variablesOf(environment.id, client::stampOf(environment.created),
                       environment.configuration, std::move(visible));
}

void setOwnVariables(Client& client, const std::string& id, bool nvmlFilter) {
    const Environment environment = client.environment(id);
    const auto head = statusHead(id);
    setOwn(environmentVariables(environment,
                                head && head->stamp == client::stampOf(environment.created)
                                    ? head->devices
                                    : visibleDevices(client, id, environment.devices)),
           nvmlFilter);
}

std::optional<std::vector<Variable>> startedVariables(const StartedEnvironment& started) {
    auto head = statusHead(started.id);
    // The file of an earlier environment with the id is older than the request.
    if (!head || timeOf(head->stamp) < started.requested)
        return std::nullopt;
    return variablesOf(started.id, std::move(head->stamp), started.configuration,
                       std::move(head->devices));
}

void setOwnVariables(Client& client, const StartedEnvironment& started, bool nvmlFilter) {
    if (const auto variables = startedVariables(started))
        setOwn(*variables, nvmlFilter);
    else
        setOwnVariables(client, started.id, nvmlFilter);
}

} // namespace genv::ctl
