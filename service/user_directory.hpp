// SPDX-License-Identifier: LGPL-2.1-or-later
// Adapter: user names, looked up on a worker, since the database may be a server far away. A name
// is kept for a while; when the database does not answer in time, the uid serves as the name.
#pragma once

#include "core/ports/clock.hpp"
#include "core/ports/scheduler.hpp"
#include "core/ports/users.hpp"
#include "service/worker.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace genv::service {

class UserDirectory : public core::Users {
  public:
    /// Looks a name up and blocks for as long as that takes; empty for none.
    using Lookup = std::function<std::string(core::Uid)>;

    static constexpr std::chrono::milliseconds patience{5'000};
    static constexpr std::chrono::minutes keptFor{10};

    UserDirectory(const core::Clock& clock, core::Scheduler& scheduler, Worker::Post post,
                  Lookup lookup = lookUpSystem);

    void nameOf(core::Uid uid, std::function<void(const std::string&)> answer) override;

    /// Asks the system's user database (getpwuid_r).
    static std::string lookUpSystem(core::Uid uid);

  private:
    struct Known {
        std::string name;
        core::BootTime until;
    };
    struct Asked {
        std::vector<std::function<void(const std::string&)>> waiting;
        std::unique_ptr<core::Scheduled> deadline;
    };

    void answerAll(core::Uid uid, const std::string& name);

    const core::Clock& clock_;
    core::Scheduler& scheduler_;
    Lookup lookup_;
    std::unordered_map<core::Uid, Known> known_;
    std::unordered_map<core::Uid, Asked> asked_;
    Worker worker_; // last: it uses the others until it is gone
};

} // namespace genv::service
