// SPDX-License-Identifier: LGPL-2.1-or-later
// Adapter: users, looked up on a worker, since the database may be a server far away. A name
// is kept for a while, and a user's own look-up never waits behind those that others want. When the
// database fails or does not answer in time, its last answer holds, however old; a user about whom
// it said nothing yet is unknown, and the uid serves as the name. The same holds for a user whom it
// had and has no more, since a server that is down looks so, too.
#pragma once

#include "core/ports/clock.hpp"
#include "core/ports/log.hpp"
#include "core/ports/scheduler.hpp"
#include "core/ports/users.hpp"
#include "service/loop/fair_worker.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace genv::service {

class UserDirectory : public core::Users {
  public:
    /// Looks a user up and blocks for as long as that takes; no name for one who is not there, and
    /// nothing where the database failed.
    using Lookup = std::function<std::optional<core::UserInfo>(core::Uid)>;

    static constexpr std::chrono::milliseconds patience{5'000};
    static constexpr std::chrono::minutes keptFor{10};

    UserDirectory(const core::Clock& clock, core::Scheduler& scheduler, core::Log& log,
                  Worker::Post post, Lookup lookup = lookUpSystem);

    void describe(core::Uid uid, std::function<void(const core::UserInfo&)> answer) override;
    void describeFor(core::Uid asking, core::Uid uid,
                     std::function<void(const core::UserInfo&)> answer) override;

    /// What the database last said of a user, however old; the same where it said nothing.
    [[nodiscard]] core::UserInfo newest(const core::UserInfo& user) const;

    /// Asks the system's user and group databases.
    static std::optional<core::UserInfo> lookUpSystem(core::Uid uid);

  private:
    struct Known {
        core::UserInfo user;
        core::BootTime until;
    };
    struct Asked {
        std::vector<std::function<void(const core::UserInfo&)>> waiting;
        std::set<core::Uid> askers; ///< each has a look-up in their own line
        std::unique_ptr<core::Scheduled> deadline;
    };

    void learn(core::Uid uid, const std::optional<core::UserInfo>& found);
    void keep(core::UserInfo user);
    void answerWithoutDatabase(core::Uid uid);
    void answerAll(const core::UserInfo& user);

    const core::Clock& clock_;
    core::Scheduler& scheduler_;
    core::Log& log_;
    Lookup lookup_;
    std::unordered_map<core::Uid, Known> known_;
    std::unordered_map<core::Uid, Asked> asked_;
    core::BootTime nextWarning_; ///< not before: one look-up that takes too long is soon many
    FairWorker worker_;          // last: it uses the others until it is gone
};

} // namespace genv::service
