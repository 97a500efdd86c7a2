// SPDX-License-Identifier: LGPL-2.1-or-later
// The messages to the thread that has the terminal: one queue, with a descriptor to wait for.
#pragma once

#include "client/descriptor_functions.hpp"
#include "client/top/frame.hpp"

#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <variant>

namespace genv::top {

/// There is a new frame.
struct FrameMessage {
    std::shared_ptr<Frame> frame; ///< without jobs
};
/// The jobs of the user have changed.
struct JobsMessage {
    JobRows jobs;
};
/// A request ended or began to wait.
struct NewsMessage {
    std::string text; ///< as it came
    bool isBad = false;
};
/// A password prompt needs the terminal. The promise is fulfilled once the terminal is free.
struct TerminalWantedMessage {
    std::string reason; ///< as it came
    std::shared_ptr<std::promise<void>> released;
};
/// The password prompt no longer needs the terminal.
struct TerminalReturnedMessage {};

using Message = std::variant<FrameMessage, JobsMessage, NewsMessage, TerminalWantedMessage,
                             TerminalReturnedMessage>;

class Mailbox {
  public:
    /// Throws std::system_error.
    Mailbox();

    void post(Message message);
    /// Removes and returns all messages, oldest first.
    std::deque<Message> take();
    /// Readable while there are messages.
    [[nodiscard]] int descriptor() const noexcept { return descriptor_.get(); }

  private:
    client::Descriptor descriptor_;
    std::mutex mutex_; ///< guards the messages
    std::deque<Message> messages_;
};

} // namespace genv::top
