// SPDX-License-Identifier: LGPL-2.1-or-later
// A log that names users: "alice (1001)" in place of "uid 1001". A line waits until the user
// database has answered, and later lines wait as well, so that they keep their order.
#pragma once

#include "core/ports/log.hpp"
#include "core/ports/users.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

namespace genv::service::journal {

class NamedLines : public core::Log {
  public:
    /// The maximum number of waiting lines. Beyond it, the first line is written with uids.
    static constexpr std::size_t maxWaiting = 1'000;

    /// Without `isNaming`, lines are passed on with their uids. The other arguments must outlive
    /// this object, except that `users` may end after its last answer.
    NamedLines(core::Users& users, core::Log& log, bool isNaming)
        : users_(users), log_(log), isNaming_(isNaming) {}
    /// Writes the waiting lines, with uids in place of names.
    ~NamedLines() override;
    NamedLines(const NamedLines&) = delete;
    NamedLines& operator=(const NamedLines&) = delete;

    /// Writes a line whose text is this service's own, and names every user in it.
    void write(core::Severity severity, const std::string& line) override;
    /// Writes a line that may quote a user's text, and names only these users.
    void write(core::Severity severity, const std::string& line, const std::set<core::Uid>& people);

  private:
    struct Waiting {
        core::Severity severity;
        std::string line;
        std::set<core::Uid> unnamed;
    };

    void learn(std::uint64_t number, const core::UserInfo& user);
    void passOn();
    void writeFirst();

    core::Users& users_;
    core::Log& log_;
    const bool isNaming_;
    std::deque<Waiting> waiting_;
    std::uint64_t first_ = 0; ///< the number of the first waiting line
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true); ///< false after destruction
};

} // namespace genv::service::journal
