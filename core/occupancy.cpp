// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/occupancy.hpp"

#include <utility>

namespace genv::core {

void Occupancy::onEvent(const Event& event) {
    const auto* detached = std::get_if<Detached>(&event);
    if (detached == nullptr)
        return;
    const Device* device = ledger_.devices().findUuid(detached->attachment.device.uuid);
    if (device == nullptr || !device->occupied || std::exchange(looks_, true))
        return;
    scheduler_.soon([this] {
        observer_.observe(std::chrono::milliseconds{0},
                          [this](const auto&, const std::string&) { looks_ = false; });
    });
}

} // namespace genv::core
