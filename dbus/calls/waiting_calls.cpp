// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/calls/waiting_calls.hpp"

#include <algorithm>
#include <vector>

namespace genv::dbus {

std::shared_ptr<void> WaitingCalls::remember(Waiting call) {
    const std::uint64_t number = ++last_;
    waiting_.emplace(number, std::move(call));
    return {this,
            [number](void* calls) { static_cast<WaitingCalls*>(calls)->waiting_.erase(number); }};
}

bool WaitingCalls::has(const std::string& busName) const {
    return std::ranges::any_of(
        waiting_, [&](const auto& waiting) { return waiting.second.busName == busName; });
}

void WaitingCalls::onDisconnected(const std::string& busName) {
    // Canceled calls remove themselves from waiting_.
    std::vector<Waiting> calls;
    for (const auto& [number, waiting] : waiting_) {
        if (waiting.busName == busName)
            calls.push_back(waiting);
    }
    for (const Waiting& call : calls) {
        call.drop();
        if (call.cancel)
            call.cancel();
    }
}

void WaitingCalls::giveUp() {
    for (const auto& [number, waiting] : waiting_)
        waiting.drop();
}

} // namespace genv::dbus
