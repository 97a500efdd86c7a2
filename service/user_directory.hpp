// SPDX-License-Identifier: LGPL-2.1-or-later
// Adapter: looks users up on a worker thread, because the database may be on a remote server. A
// name is cached for a while, and the look-ups that one user asks for never wait behind those of
// others. If the database fails or does not answer in time, its last answer stays valid, however
// old. A user without any answer yet counts as unknown and has the uid as name. A user who was
// known and is no longer found keeps the last answer, too, because an unreachable server looks the
// same.
#pragma once

#include "core/ports/clock.hpp"
#include "core/ports/log.hpp"
#include "core/ports/scheduler.hpp"
#include "core/ports/users.hpp"
#include "service/loop/fair_worker.hpp"
#include "service/name_lookups.hpp"

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
    /// Looks a user up. Blocks as long as that takes. Returns a user with an empty name if the user
    /// does not exist, and nothing if the database failed.
    using Lookup = std::function<std::optional<core::UserInfo>(core::Uid)>;

    static constexpr std::chrono::milliseconds timeout{5'000};
    static constexpr std::chrono::minutes keptFor{10};

    UserDirectory(const core::Clock& clock, core::Scheduler& scheduler, core::Log& log,
                  Worker::Post post, Lookup lookup = lookUpSystem,
                  NameLookups::Find find = NameLookups::findInSystem);

    void describe(core::Uid uid, std::function<void(const core::UserInfo&)> answer) override;
    void describeFor(core::Uid asking, core::Uid uid,
                     std::function<void(const core::UserInfo&)> answer) override;
    void resolve(core::Uid asking, const core::Names& names,
                 std::function<void(const core::ResolvedNames&)> answer) override;

    /// Returns the database's last answer about a user, however old, or `user` itself if there was
    /// none.
    [[nodiscard]] core::UserInfo newest(const core::UserInfo& user) const;

    /// Looks a user up in the system's user and group databases.
    static std::optional<core::UserInfo> lookUpSystem(core::Uid uid);

  private:
    struct Known {
        core::UserInfo user;
        core::BootTime until;
    };
    struct Asked {
        std::vector<std::function<void(const core::UserInfo&)>> waiting;
        std::set<core::Uid> requesters; ///< each has a look-up in their own queue
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
    core::BootTime nextWarning_; ///< not before this time: slow look-ups come in series
    NameLookups names_;
    FairWorker worker_; // last: it uses the other members until it is destroyed
};

} // namespace genv::service
