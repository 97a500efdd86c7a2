// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/waiting_calls.hpp"

#include <vector>

namespace genv::dbus {

std::shared_ptr<void> WaitingCalls::remember(const std::string& busName,
                                             std::function<void()> cancel) {
    const std::uint64_t number = ++last_;
    waiting_.emplace(number, Waiting{busName, std::move(cancel)});
    return {this,
            [number](void* calls) { static_cast<WaitingCalls*>(calls)->waiting_.erase(number); }};
}

void WaitingCalls::left(const std::string& busName) {
    // What is cancelled forgets itself here.
    std::vector<std::function<void()>> cancels;
    for (const auto& [number, waiting] : waiting_) {
        if (waiting.busName == busName)
            cancels.push_back(waiting.cancel);
    }
    for (const auto& cancel : cancels)
        cancel();
}

} // namespace genv::dbus
