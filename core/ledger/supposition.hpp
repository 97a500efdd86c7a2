// SPDX-License-Identifier: LGPL-2.1-or-later
// Computes something as if a change had been made. While a supposition exists, the ledger reads as
// if an environment had already changed or ended. Nothing is written and no event is emitted. The
// ledger is restored when the supposition is destroyed.
#pragma once

#include "core/ledger/ledger.hpp"

#include <optional>

namespace genv::core {

class Supposition {
  public:
    /// `next`: the assumed state of an existing environment; unset: no change. No request, no fact
    /// and no other supposition may reach the ledger meanwhile.
    Supposition(Ledger& ledger, const std::optional<EnvironmentRecord>& next);
    Supposition(const Supposition&) = delete;
    Supposition& operator=(const Supposition&) = delete;
    ~Supposition();

  private:
    Ledger& ledger_;
    /// The node of the real environment, which keeps its address. Empty if no change is assumed.
    std::map<std::uint64_t, EnvironmentRecord>::node_type real_;
};

} // namespace genv::core
