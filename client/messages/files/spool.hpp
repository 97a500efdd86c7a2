// SPDX-License-Identifier: LGPL-2.1-or-later
// The events that wait for one channel, each in a file of its folder, and at most one batch of
// them that is being sent. Everything is written before it is used, so that a crash loses
// nothing. Events are bounded: the oldest make room for new ones.
#pragma once

#include "client/messages/files/batch.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace genv::messages {

class Spool {
  public:
    static constexpr std::size_t maxEvents = 256;

    /// Reads the folder, and creates it if it is missing. Throws std::system_error, as the other
    /// functions do.
    explicit Spool(std::filesystem::path folder);
    Spool(const Spool&) = delete;
    Spool& operator=(const Spool&) = delete;

    void add(const MessageEvent& event);
    [[nodiscard]] bool hasEvents() const noexcept { return !events_.empty(); }
    [[nodiscard]] std::size_t size() const;

    /// The batch that is being sent. Its file may be gone: then it was sent.
    [[nodiscard]] const std::optional<Batch>& batch() const noexcept { return batch_; }
    [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }
    /// Names the batch in its folder.
    [[nodiscard]] std::string instance() const;
    /// Makes a batch of all events that wait. There must be events, and no batch.
    void makeBatch(core::WallTime now);
    /// Records an attempt that begins now.
    void beginAttempt(core::WallTime now);
    /// Records when the next attempt is due.
    void postpone(core::WallTime next);
    /// Forgets the batch, and returns why its last attempt failed, as its sender said.
    std::string finishBatch();
    /// Whether the file of the batch is gone.
    [[nodiscard]] bool isSent() const;
    /// Forgets everything.
    void clear();

  private:
    void load();
    void loadBatch();
    [[nodiscard]] std::filesystem::path eventFile(std::uint64_t number) const;
    void saveBatch() const;

    const std::filesystem::path folder_;
    std::map<std::uint64_t, MessageEvent> events_; ///< that wait, by number
    std::uint64_t next_ = 1;                       ///< number of the next event
    std::size_t missing_ = 0; ///< events that were dropped since the last batch
    std::optional<Batch> batch_;
};

/// Returns how many events wait in the folder of a spool, without changing it.
std::size_t countWaiting(const std::filesystem::path& folder);

} // namespace genv::messages
