// SPDX-License-Identifier: LGPL-2.1-or-later
// Port: how much of the kernel's counters of opens was reported. Both outlast this service until
// the machine restarts.
#pragma once

#include "core/ports/gates.hpp"

#include <optional>
#include <vector>

namespace genv::core {

/// The part of a counter that was reported.
struct ReportedOpens {
    Uid uid = 0;
    DeviceNode node;
    OpenCounts counts;
};

class ReportedOpensStore {
  public:
    virtual ~ReportedOpensStore() = default;

    /// Returns what was written last; an empty list if nothing was. Returns nothing if that cannot
    /// be read.
    [[nodiscard]] virtual std::optional<std::vector<ReportedOpens>> read() = 0;
    /// Replaces what was written last, as a whole. A failure is logged; opens may then be reported
    /// again.
    virtual void write(const std::vector<ReportedOpens>& reported) noexcept = 0;
};

} // namespace genv::core
