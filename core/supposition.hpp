// SPDX-License-Identifier: LGPL-2.1-or-later
// Working something out as if a change had been made: while one lives, the ledger reads as if an
// environment were another one already, or over. Nothing is written and nobody is told, and the
// ledger is as it was once it is gone.
#pragma once

#include "core/ledger.hpp"

#include <optional>

namespace genv::core {

class Supposition {
  public:
    /// `next`: an environment that the ledger has, as it would be; nothing supposes nothing. No
    /// request and no fact may reach the ledger meanwhile, nor any other supposition.
    Supposition(Ledger& ledger, const std::optional<Environment>& next);
    Supposition(const Supposition&) = delete;
    Supposition& operator=(const Supposition&) = delete;
    ~Supposition();

  private:
    Ledger& ledger_;
    /// As it is: its node, so that its address stays. Empty where nothing is supposed.
    std::map<std::uint64_t, Environment>::node_type real_;
};

} // namespace genv::core
