// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/daemon/machine_check.hpp"

#include "client/jobs/model/job_error.hpp"
#include "core/base/text.hpp"
#include "core/placement/placement.hpp"
#include "core/sentences/sentences.hpp"

#include <algorithm>
#include <optional>
#include <string>

namespace genv::jobs {

namespace {

template <typename Value>
std::optional<Value> valueOf(const Dictionary& request, const char* name) {
    const auto found = request.find(name);
    return found == request.end() ? std::nullopt : std::optional(found->second.get<Value>());
}

void requireNumber(std::uint32_t gpus, const std::optional<std::string>& model,
                   const std::vector<DeviceRow>& devices) {
    const auto found = std::ranges::count_if(devices, [&](const DeviceRow& device) {
        core::DeviceFacts facts;
        facts.model = device.model;
        return core::matchesModel(facts, model);
    });
    if (gpus > static_cast<std::uint64_t>(found))
        fail(JobErrorCode::InvalidArgs, "not enough devices: {} requested, this machine has {}{}",
             gpus, found, model ? " of model \"" + core::escaped(*model) + "\"" : "");
}

} // namespace

void requireDevices(const Dictionary& request, const std::vector<DeviceRow>& devices) {
    if (const auto gpus = valueOf<std::uint32_t>(request, "gpus"))
        requireNumber(*gpus, valueOf<std::string>(request, "model"), devices);
    const auto indices = valueOf<std::vector<std::uint32_t>>(request, "indices");
    for (const std::uint32_t index : indices.value_or(std::vector<std::uint32_t>{})) {
        if (!std::ranges::count(devices, index, &DeviceRow::index))
            fail(JobErrorCode::InvalidArgs, "no device {}: this machine has {}", index,
                 core::counted(devices.size(), "device"));
    }
    const auto uuids = valueOf<std::vector<std::string>>(request, "uuids");
    for (const std::string& uuid : uuids.value_or(std::vector<std::string>{})) {
        if (!std::ranges::count(devices, uuid, &DeviceRow::uuid))
            fail(JobErrorCode::InvalidArgs, "no device has the UUID \"{}\"", core::escaped(uuid));
    }
}

} // namespace genv::jobs
