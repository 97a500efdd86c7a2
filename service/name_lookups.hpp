// SPDX-License-Identifier: LGPL-2.1-or-later
// Looks up the uids and gids that names stand for, on a worker thread that it shares with other
// look-ups. Each name is a job of its own, so that a long list does not delay others. Names that
// the database does not answer for in time keep their last answers.
#pragma once

#include "core/model/named_ids.hpp"
#include "core/ports/scheduler.hpp"
#include "service/loop/fair_worker.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

namespace genv::service {

/// The name of a user or of a group.
struct DirectoryName {
    bool isGroup = false;
    std::string text;

    friend auto operator<=>(const DirectoryName&, const DirectoryName&) = default;
};

class NameLookups {
  public:
    /// Returns the uid or gid of a name, or nothing if nobody has it. `before` is the last answer.
    /// Blocks. Throws core::UserDatabaseError.
    using Find = std::function<std::optional<std::uint32_t>(const DirectoryName& name,
                                                            std::optional<std::uint32_t> before)>;

    /// All arguments must outlive this object. `timeout` is for a list as a whole.
    NameLookups(core::Scheduler& scheduler, FairWorker& worker, std::chrono::milliseconds timeout,
                Find find = findInSystem);

    void resolve(core::Uid asking, const core::Names& names,
                 std::function<void(const core::ResolvedNames&)> answer);

    /// Asks the system's user and group databases.
    static std::optional<std::uint32_t> findInSystem(const DirectoryName& name,
                                                     std::optional<std::uint32_t> before);

  private:
    // The answer of the database about a name.
    struct Answer {
        bool hasFailed = false;
        std::optional<std::uint32_t> id; // unset: nobody has the name
    };
    // A list of names whose answers are not complete.
    struct Round {
        std::set<DirectoryName> missing;
        core::ResolvedNames found;
        std::function<void(const core::ResolvedNames&)> answer;
        std::unique_ptr<core::Scheduled> deadline;
    };

    void ask(core::Uid asking, std::uint64_t round, const DirectoryName& name);
    void learn(std::uint64_t round, const DirectoryName& name, const Answer& answer);
    void enter(Round& round, const DirectoryName& name);
    void finish(std::uint64_t round);
    [[nodiscard]] std::optional<std::uint32_t> lastId(const DirectoryName& name) const;

    core::Scheduler& scheduler_;
    FairWorker& worker_;
    const std::chrono::milliseconds timeout_;
    const Find find_;
    std::map<DirectoryName, std::optional<std::uint32_t>> last_;
    std::map<std::uint64_t, Round> rounds_;
    std::uint64_t lastRound_ = 0;
};

} // namespace genv::service
