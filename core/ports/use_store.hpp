// SPDX-License-Identifier: LGPL-2.1-or-later
// Port: the storage of what users have used so far. It outlives environments and the boot. Writes
// are atomic: after a crash a reader finds either the old record or the new one.
#pragma once

#include "core/base/process.hpp"
#include "core/base/time.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace genv::core {

/// The use of a user at a moment, which decays from then on.
struct UseRow {
    Uid uid = 0;
    double gpuSeconds = 0;
    BootTime asOf;

    friend bool operator==(const UseRow&, const UseRow&) = default;
};

/// How long the last environments of a user with a name lasted, oldest first.
struct LengthRow {
    Uid uid = 0;
    std::string name; ///< empty: those without a name
    std::vector<std::chrono::seconds> lengths;

    friend bool operator==(const LengthRow&, const LengthRow&) = default;
};

/// The use of users, and when it was recorded. Boot times are those of the boot with this id.
struct UseRecord {
    std::string boot;
    BootTime bootTime;
    WallTime wallTime;
    std::vector<UseRow> rows;
    // In the lasting record only (core/use/start_history.hpp).
    std::vector<LengthRow> lengths = {};
    std::vector<bool> guesses = {}; ///< whether expected starts were right, oldest first

    friend bool operator==(const UseRecord&, const UseRecord&) = default;
};

/// The records in the store. An invalid one was set aside.
struct UseRecords {
    std::optional<UseRecord> lasting; ///< outlives the boot
    std::optional<UseRecord> recent;  ///< changes since then; outlives only the service
};

class UseStore {
  public:
    virtual ~UseStore() = default;

    /// Reads the records. Call this first.
    virtual UseRecords read() = 0;
    /// Returns the id of this boot.
    [[nodiscard]] virtual std::string boot() const = 0;
    /// Replaces the lasting record, outside the loop. `done` is called later on the
    /// loop, unless this object is destroyed before.
    virtual void write(UseRecord record, std::function<void(bool isWritten)> done) = 0;
    /// The same at a stop: returns when it is written, or has failed.
    virtual void writeNow(const UseRecord& record) = 0;
    /// Replaces the record of recent changes.
    virtual void writeRecent(const UseRecord& record) = 0;
};

} // namespace genv::core
