// SPDX-License-Identifier: LGPL-2.1-or-later
// What happened, in the members that may leave the machine: no command line, no path, no other
// user. Texts are printable and bounded.
#pragma once

#include "client/messages/model/kinds.hpp"
#include "core/base/time.hpp"
#include "core/model/device.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace genv::messages {

struct MessageEvent {
    Kind kind = Kind::Test;
    core::WallTime when{};
    std::string environment{};           ///< id; empty for an event of a job or of no environment
    std::optional<std::uint32_t> job{};  ///< number
    std::string name{};                  ///< of the job or environment; empty if it has none
    std::vector<core::DeviceIndex> gpus; ///< ascending
    std::uint32_t gpuCount = 0;          ///< for a job, whose GPUs are given back
    std::chrono::seconds duration{0};    ///< of the job or the wait; 0 = unknown
    std::string status{};                ///< in words, such as "exit status 1"
    std::string by{};                    ///< the user whose request caused it; empty: none

    bool operator==(const MessageEvent&) const = default;
};

/// Makes foreign text a name: printable, and at most 128 bytes.
std::string boundedName(std::string_view text);

/// Returns an event as one line of JSON.
std::string encode(const MessageEvent& event);
/// The reverse. Returns nothing for a text that is no event.
std::optional<MessageEvent> decodeEvent(std::string_view text);

/// Combines events that differ only in their GPUs: a rule takes each GPU by itself. Keeps the order
/// of the first ones.
std::vector<MessageEvent> merged(const std::vector<MessageEvent>& events);

} // namespace genv::messages
