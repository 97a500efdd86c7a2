// SPDX-License-Identifier: LGPL-2.1-or-later
// Which notices of genvd and which ends of jobs are told beyond the desktop, as what.
#pragma once

#include "client/messages/model/message_event.hpp"
#include "core/base/time.hpp"
#include "genv/types.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace genv::messages {

/// Returns nothing for a notice that is not told.
std::optional<MessageEvent> eventOf(const Notice& notice, core::WallTime when);

/// A job as genv-jobs lists it.
struct JobFacts {
    std::uint32_t number = 0;
    std::string name{};
    std::string state{};  ///< waiting, held, running, done, failed, lost or canceled
    std::string reason{}; ///< in words
    std::uint32_t gpus = 0;
    std::uint32_t tasks = 0;
    std::uint32_t done = 0;
    std::uint32_t failed = 0;
    std::uint32_t canceled = 0;
    bool isArray = false;
    std::uint64_t started = 0; ///< µs since the epoch; 0 = never
    std::uint64_t ended = 0;   ///< the same; 0 = not yet
    std::int32_t status = -1;
};

/// Returns nothing for a job that has not ended.
std::optional<MessageEvent> eventOf(const JobFacts& job);

} // namespace genv::messages
