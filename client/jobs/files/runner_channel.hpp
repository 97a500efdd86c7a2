// SPDX-License-Identifier: LGPL-2.1-or-later
// The socket between genv-jobs and a genv-job, which is started ahead of its grant, so that nothing
// but the command is left to be started then. It is the standard input of the unit:
//
//   genv-job    I am ready, and this is my process
//   genv-jobs   start: your attempt is written, and your environment has its GPUs
//   genv-job    I have made the start mark
//
// If genv-jobs closes its end before the start, or ends, genv-job ends without a trace.
#pragma once

#include "core/base/descriptor.hpp"

#include <cstdint>
#include <utility>

namespace genv::jobs {

enum class RunnerWord : std::uint8_t {
    Nothing, ///< the other end has not sent anything
    Ready,   ///< of genv-job, with its process
    Start,   ///< of genv-jobs
    Started, ///< of genv-job
    End      ///< the other end is closed, or has sent another word
};

/// What the other end has sent.
struct RunnerMessage {
    RunnerWord word = RunnerWord::End;
    core::Descriptor process; ///< a pidfd, with RunnerWord::Ready
};

class RunnerChannel {
  public:
    /// Makes the two ends; the first one does not block. Throws std::system_error.
    static std::pair<RunnerChannel, core::Descriptor> make();

    explicit RunnerChannel(core::Descriptor socket) : socket_(std::move(socket)) {}

    [[nodiscard]] bool isSocket() const noexcept;
    [[nodiscard]] int descriptor() const noexcept { return socket_.get(); }
    /// Sends a word, with this process if it is RunnerWord::Ready. Returns false if nobody reads
    /// it.
    [[nodiscard]] bool send(RunnerWord word) const;
    /// Receives a word. A blocking end waits for one.
    [[nodiscard]] RunnerMessage receive() const;

  private:
    core::Descriptor socket_;
};

} // namespace genv::jobs
