// SPDX-License-Identifier: LGPL-2.1-or-later
// The plans that wait for their authorization. Requests at the same time would otherwise all plan
// for the first free device; all but one would have to be planned and authorized again.
#pragma once

#include "core/placement/placement.hpp"
#include "core/placement/reservations.hpp"

#include <list>
#include <memory>

namespace genv::core {

class OpenPlans {
  public:
    /// Adds a plan until the result is destroyed, which may outlive this object.
    [[nodiscard]] std::shared_ptr<void> add(const Plan& plan);

    /// Returns the reservations together with the free devices of all open plans.
    [[nodiscard]] Reservations with(Reservations reservations) const;

  private:
    std::shared_ptr<std::list<Placement>> plans_ = std::make_shared<std::list<Placement>>();
};

} // namespace genv::core
