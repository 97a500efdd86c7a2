// SPDX-License-Identifier: LGPL-2.1-or-later
// Carries out requests one after the other, on a thread with its own connection. Posts the result
// of each, including polkit's answer.
#pragma once

#include "client/remote/ssh/host.hpp"
#include "client/top/background.hpp"
#include "client/top/mailbox.hpp"
#include "client/top/service_requests.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>

namespace genv::top {

class RequestWorker {
  public:
    /// The mailbox must outlive this object. `mayAskPassword` allows a password prompt on the
    /// terminal.
    RequestWorker(Mailbox& mailbox, std::optional<remote::Host> host, bool mayAskPassword);
    RequestWorker(const RequestWorker&) = delete;
    RequestWorker& operator=(const RequestWorker&) = delete;
    ~RequestWorker() { stop(); }

    void submit(Request request);
    /// Returns whether a request is being carried out.
    [[nodiscard]] bool isBusy();
    /// Cancels waiting requests and ends the thread.
    void stop();
    [[nodiscard]] bool endsWithin(std::chrono::milliseconds time) const;

  private:
    void run(int stop);

    Mailbox& mailbox_;
    std::optional<remote::Host> host_;
    bool mayAskPassword_;
    std::mutex mutex_; ///< guards the next three
    std::condition_variable changed_;
    std::deque<Request> requests_; ///< the first is being carried out
    bool stops_ = false;
    std::optional<Background> thread_; ///< made by the first request
};

} // namespace genv::top
