// SPDX-License-Identifier: LGPL-2.1-or-later
// The ends of this user's jobs, as genv-jobs tells them. Each end is passed on once, also if this
// program or genv-jobs did not run at that time: a file remembers the ends that were passed on in
// the last day.
#pragma once

#include "client/loop_bus.hpp"
#include "client/messages/model/told_notices.hpp"
#include "core/base/time.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>

namespace genv::messages {

/// Which ends were passed on. Pure; the watch keeps it in a file.
class ToldEnds {
  public:
    /// Nothing that ended before `since` is told.
    explicit ToldEnds(core::WallTime since) : since_(since) {}
    /// Reads what encode() wrote. Any other text is as if nothing had ended yet.
    ToldEnds(const std::string& text, core::WallTime now);

    /// Returns whether this end is new, and remembers it. A job that runs again ends again.
    bool add(const JobFacts& job);
    /// Forgets what genv-jobs no longer lists by itself.
    void forgetBefore(core::WallTime time);
    [[nodiscard]] std::string encode() const;

  private:
    core::WallTime since_;
    std::map<std::uint32_t, std::uint64_t> ends_; ///< µs since the epoch, by job
};

class JobWatch {
  public:
    /// `bus` is the user's bus, and `file` remembers the ends that were passed on. `heard` is
    /// called when jobs changed or were listed. Throws std::system_error. The bus must outlive this
    /// object.
    JobWatch(const event::LoopBus& bus, std::filesystem::path file,
             std::function<void(const MessageEvent&)> ended, std::function<void()> heard);
    JobWatch(const JobWatch&) = delete;
    JobWatch& operator=(const JobWatch&) = delete;

    /// Asks for the jobs that ended while nobody listened. Starts genv-jobs.
    void catchUp();

  private:
    void onOwner(const std::string& owner);
    void onChanged(sdbus::Message& signal);
    void ask(std::uint32_t job);
    void tell(const JobFacts& job);
    void save();

    const event::LoopBus& bus_;
    const std::filesystem::path file_;
    const std::function<void(const MessageEvent&)> ended_;
    const std::function<void()> heard_;
    ToldEnds told_;
};

} // namespace genv::messages
