// SPDX-License-Identifier: LGPL-2.1-or-later
// One connection to a helper behind a socket: one line as the request, one line as the answer, and
// the end of the connection. Everything runs on the loop and never blocks.
#pragma once

#include "core/base/descriptor.hpp"
#include "core/ports/scheduler.hpp"

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace genv::service {

class LineExchange {
  public:
    enum class End {
        Answered, ///< with a line
        Ended,    ///< the helper ended without an answer, or the connection was refused
        Late,     ///< there was no answer in time
        TooLong,  ///< the answer
        NoLine,   ///< the answer is not one line
    };
    /// Called once. The line is empty unless the helper answered. May destroy the exchange.
    using Finished = std::function<void(End end, const std::string& line)>;

    /// Connects and sends the request, which has no line feed. Throws std::system_error.
    LineExchange(const std::filesystem::path& socket, const std::string& request,
                 std::chrono::milliseconds timeout, std::size_t maxAnswer,
                 core::Scheduler& scheduler, Finished finished);
    LineExchange(const LineExchange&) = delete;
    LineExchange& operator=(const LineExchange&) = delete;

  private:
    void receive();
    void finishAtEnd();
    void finish(End end);

    core::Descriptor connection_;
    std::size_t maxAnswer_;
    std::string received_;
    Finished finished_;
    std::unique_ptr<core::Scheduled> readable_;
    std::unique_ptr<core::Scheduled> deadline_;
};

} // namespace genv::service
