// SPDX-License-Identifier: LGPL-2.1-or-later
// Finds the users and groups that the sections of genvd.conf name: [User NAME] applies to the uid
// that NAME stands for, in whatever spelling. Asks the user database when the settings are read,
// and again later, because names and their answers change. Reports sections without effect.
#pragma once

#include "core/ports/clock.hpp"
#include "core/ports/log.hpp"
#include "core/ports/users.hpp"
#include "core/settings/limits.hpp"

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace genv::service {

class ConfiguredNames {
  public:
    using Found = std::function<void(const core::ResolvedNames&)>;

    /// How long answers count. Names that nobody has are looked up more often, because a directory
    /// server that starts after the service gives the same answer.
    static constexpr std::chrono::minutes keptFor{10};
    static constexpr std::chrono::minutes nobodyKeptFor{1};

    /// All arguments must outlive this object.
    ConfiguredNames(core::Users& users, const core::Clock& clock, core::Log& log);

    /// Looks up the names of new settings. `found` is called before these settings take effect, on
    /// the loop, at the latest when the user database's time is over.
    void resolve(const core::LimitTable& limits, Found found);
    /// Looks the names of the settings in force up again if that is due. Names without an answer
    /// are due at once. `found` is not called if resolve() is called in between.
    void check(const core::LimitTable& limits, Found found);

  private:
    void ask(const core::Names& names, Found found);
    void learn(const core::ResolvedNames& found);
    void log(const core::ResolvedNames& found);

    core::Users& users_;
    const core::Clock& clock_;
    core::Log& log_;
    std::uint64_t settings_ = 0; ///< number of the last resolve()
    bool isAsking_ = false;
    core::BootTime due_{};
    std::vector<std::string> logged_;
};

} // namespace genv::service
