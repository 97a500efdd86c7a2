// SPDX-License-Identifier: LGPL-2.1-or-later
// What the queue asks of those who lend: which loans a waiting request may take, and that they are
// taken. core/loans/takings.hpp carries it out.
#pragma once

#include "core/model/environment.hpp"
#include "core/model/preemptible.hpp"
#include "core/placement/taking_plan.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace genv::core {

class Lending {
  public:
    virtual ~Lending() = default;

    /// Sets the callback for when the queue should be served, which settles the takings first.
    virtual void onChanged(std::function<void()> listener) = 0;
    /// Returns whether there is a loan, or a taking.
    [[nodiscard]] virtual bool isAnyLoan() const = 0;
    /// Returns whether requests of such an environment may take: those of preemptible ones only
    /// after a turn, if that is set.
    [[nodiscard]] virtual bool mayTake(Preemptible taker) const = 0;
    /// Returns what such an environment may take for a request. `ticket`: of the request, if it
    /// waits.
    [[nodiscard]] virtual std::vector<TakeableEnvironment>
    loansFor(Preemptible taker, std::optional<std::uint64_t> ticket) const = 0;

    /// Takes the next steps, and ends takings whose requests are gone.
    virtual void settle() = 0;
    /// Returns whether a victim of this taking failed, so that it needs another plan.
    [[nodiscard]] virtual bool needsPlan(std::uint64_t ticket) const = 0;
    /// Begins a taking, or changes one. `overtaken`: the requests that it passes. Throws Error if
    /// it cannot be written.
    virtual void begin(std::uint64_t ticket, const TakingPlan& plan,
                       const std::vector<std::uint64_t>& overtaken) = 0;
    /// Ends a taking without a grant.
    virtual void end(std::uint64_t ticket, const std::string& why) = 0;
    /// Notes that a request got its devices.
    virtual void granted(std::uint64_t ticket) = 0;
    /// Wakes the queue when a loan can be taken that cannot be now.
    virtual void watch() = 0;
    /// Returns why the last taking of a waiting request failed; empty: none did.
    [[nodiscard]] virtual std::string problemOf(std::uint64_t ticket) const = 0;
};

} // namespace genv::core
