// SPDX-License-Identifier: LGPL-2.1-or-later
// Adapter: asks PID 1 which users with a uid of systemd's DynamicUser= are people: those who log in
// (logind reports them) and those who use a GPU. Nothing here blocks. Without systemd there is no
// answer, and these uids stay exempt from isolation.
//
// This uses the connection of libpolkit-gobject, so that a flood of calls to the service does not
// delay it.
#pragma once

#include "core/ports/clock.hpp"
#include "core/ports/log.hpp"
#include "core/ports/observer.hpp"
#include "core/settings/dynamic_uids.hpp"

#include <functional>
#include <memory>
#include <set>

namespace genv::service {

class DynamicUsers {
  public:
    /// Called on the loop when it turns out who is a person, and who is none any more.
    using Changed = std::function<void(const std::set<core::Uid>& people)>;

    /// `people` were found by an earlier service. All references must outlive this object.
    DynamicUsers(const core::Clock& clock, core::Log& log, std::set<core::Uid> people,
                 Changed changed);
    ~DynamicUsers();
    DynamicUsers(const DynamicUsers&) = delete;
    DynamicUsers& operator=(const DynamicUsers&) = delete;

    /// Starts to listen for logins at the first call, and asks again about the people.
    void check();
    /// Asks about the users of compute processes.
    void observed(const core::Observation& observation);

  private:
    struct Bus;

    const std::shared_ptr<Bus> bus_; ///< shared with pending calls
};

} // namespace genv::service
