// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/model/device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace genv::core {

std::string toString(Health health) {
    switch (health.state) {
    case Health::State::Ok:
        return "ok";
    case Health::State::Stale:
        return "stale";
    case Health::State::Lost:
        return "lost";
    case Health::State::Xid:
        return fmt::format("xid-{}", health.xid);
    }
    return "stale";
}

bool isApplicationXid(std::uint32_t xid) {
    constexpr std::array<std::uint32_t, 6> causedByApplications{13, 31, 43, 45, 68, 109};
    return std::find(causedByApplications.begin(), causedByApplications.end(), xid) !=
           causedByApplications.end();
}

} // namespace genv::core
