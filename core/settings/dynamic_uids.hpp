// SPDX-License-Identifier: LGPL-2.1-or-later
// Tells people from services among the uids that systemd gives to services with DynamicUser=.
// Isolation exempts these uids, and administrators also give them to people. The loader cannot tell
// them apart, because it runs before the user database is there. PID 1 can: it knows the uids of
// its services. This class decides when to ask it, and what its answer means.
#pragma once

#include "core/base/process.hpp"
#include "core/base/time.hpp"
#include "core/ports/gates.hpp"

#include <chrono>
#include <map>
#include <set>
#include <vector>

namespace genv::core {

/// The uids of systemd's DynamicUser=.
inline constexpr UidRange dynamicUids{61184, 65519};

class DynamicUids {
  public:
    enum class Answer {
        Service, ///< a service has this uid
        Person,  ///< no service has it
        None,    ///< there is no systemd, or it does not answer
    };
    /// What was seen of a user.
    enum class Sign { Login, GpuUse };

    /// The minimum time between two questions about a uid.
    static constexpr std::chrono::seconds afterLogin{1};
    static constexpr std::chrono::minutes afterGpuUse{1};

    /// Starts with the people whom an earlier service found.
    explicit DynamicUids(std::set<Uid> people = {}) : people_(std::move(people)) {}

    /// Returns whether to ask PID 1 about a user who was seen now. The question is then pending
    /// until learn().
    [[nodiscard]] bool ask(Uid uid, Sign sign, BootTime now);
    /// Returns the people to ask about again, since a service may have got such a uid. The
    /// questions are then pending until learn().
    [[nodiscard]] std::vector<Uid> askAgain(BootTime now);
    /// Takes PID 1's answer. Returns whether the people have changed.
    bool learn(Uid uid, Answer answer);

    /// The users with such a uid who are no services.
    [[nodiscard]] const std::set<Uid>& people() const { return people_; }

  private:
    bool begin(Uid uid, BootTime::duration pause, BootTime now);

    std::set<Uid> people_;
    std::set<Uid> pending_;
    std::map<Uid, BootTime> asked_;
};

} // namespace genv::core
