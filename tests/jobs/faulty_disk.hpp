// SPDX-License-Identifier: LGPL-2.1-or-later
// A disk below SQLite that fails at a chosen change, once or for good. A disk that fails for good
// is what a crash at this moment leaves.
#pragma once

#include <cstddef>
#include <optional>

namespace genv::jobs::tests {

class FaultyDisk {
  public:
    /// What a change reports.
    enum class Fault { Full, Broken };

    /// Databases that are opened from now on are on this disk.
    FaultyDisk();
    FaultyDisk(const FaultyDisk&) = delete;
    FaultyDisk& operator=(const FaultyDisk&) = delete;
    ~FaultyDisk();

    /// The change after so many more fails; nothing else does, or everything after it.
    void failAfter(std::size_t changes, Fault fault, bool forGood);
    void repair();

    [[nodiscard]] bool hasFailed() const { return hasFailed_; }
    [[nodiscard]] std::size_t changes() const { return changes_; }
    [[nodiscard]] std::size_t syncs() const { return syncs_; }

    /// Counts a write, a truncation, a removal or a sync. Returns the result of SQLite if it fails.
    int change(bool isSync);

  private:
    std::optional<std::size_t> left_;
    Fault fault_ = Fault::Full;
    bool isForGood_ = false;
    bool hasFailed_ = false;
    std::size_t changes_ = 0;
    std::size_t syncs_ = 0;
};

} // namespace genv::jobs::tests
