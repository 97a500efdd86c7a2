// SPDX-License-Identifier: LGPL-2.1-or-later
// The events of one message that is being sent, in a file of their own. Whatever sends the message
// removes the file afterwards: its absence says that the message was sent.
#pragma once

#include "client/messages/model/message_event.hpp"
#include "core/base/time.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace genv::messages {

struct Batch {
    std::uint64_t last = 0;   ///< number of the newest event in it
    std::size_t attempts = 0; ///< that have begun
    core::WallTime next{};    ///< when the next one is due
    std::size_t missing = 0;  ///< events that were dropped before these
    std::vector<MessageEvent> events;

    bool operator==(const Batch&) const = default;
};

/// Whether a text may name a batch: digits, lower case letters and hyphens. It is part of the name
/// of a file and of a unit.
bool isInstance(const std::string& instance);
/// Returns the file of a batch. `instance` names it in its folder.
std::filesystem::path batchFile(const std::filesystem::path& folder, const std::string& instance);
/// Returns the file in which a sender says why it failed.
std::filesystem::path reasonFile(const std::filesystem::path& folder, const std::string& instance);

/// Throws std::system_error.
void writeBatch(const std::filesystem::path& file, const Batch& batch);
/// Returns nothing if there is no such file, or if it is no batch.
std::optional<Batch> readBatch(const std::filesystem::path& file);

} // namespace genv::messages
