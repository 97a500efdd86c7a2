// SPDX-License-Identifier: LGPL-2.1-or-later
#include "shims/nvidia_smi/report_state.hpp"

#include "shims/nvidia_smi/line_text.hpp"
#include "shims/printable.hpp"

#include <fmt/format.h>

namespace genv::shims::nvidia_smi {

void ReportCorrector::beginGpu(std::string_view busId) {
    busId_ = busId;
    uuid_.clear();
    instance_.reset();
    isInGpu_ = true;
}

bool ReportCorrector::handleUuid(std::string_view uuid) {
    uuid_ = uuid;
    return seen().byUuid(uuid) != nullptr;
}

void ReportCorrector::endGpu() {
    isInGpu_ = false;
    instance_.reset();
}

const SeenGpu* ReportCorrector::gpu() {
    if (uuid_.empty() && isInGpu_) {
        // --id has selected the visible GPUs, so if there is only one, it must be this one.
        if (seen().gpus().size() == 1)
            uuid_ = seen().gpus().front().uuid;
        else
            uuid_ = uuidOfBusId(busId_).value_or("?");
    }
    const SeenGpu* found = seen().byUuid(uuid_);
    if (found == nullptr && isInGpu_)
        note(fmt::format("unknown GPU {}: its numbers may be those of the whole machine",
                         printable(busId_)));
    return found;
}

void ReportCorrector::beginInstance(std::optional<std::uint64_t> number) {
    instance_ = number;
}

std::optional<Figure> ReportCorrector::memoryReplacement(std::string_view what,
                                                         std::uint64_t printedMib) {
    const SeenGpu* owner = gpu();
    if (owner == nullptr)
        return std::nullopt;
    const SeenInstance* instance = instance_ ? owner->instance(*instance_) : nullptr;
    return replacement(what, printedMib, instance == nullptr ? owner->memory : instance->memory,
                       *owner);
}

} // namespace genv::shims::nvidia_smi
