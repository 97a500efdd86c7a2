// SPDX-License-Identifier: LGPL-2.1-or-later
// The calls that carry out requests, with a password prompt if necessary.
#pragma once

#include "client/top/mailbox.hpp"
#include "client/top/service_connection.hpp"
#include "client/top/service_requests.hpp"

#include <functional>
#include <optional>
#include <string>

namespace genv::top {

class Operations {
  public:
    Operations(Mailbox& mailbox, const std::optional<remote::Host>& host, bool mayAskPassword,
               int stop)
        : mailbox_(mailbox), link_(host), mayAskPassword_(mayAskPassword && !host), stop_(stop) {}

    /// Makes the call and posts its result.
    void carryOut(const Request& request);

    // Each returns the message about its success, or nothing if the user canceled the request.
    std::string perform(const DetachRequest& request);
    std::string perform(const TerminateRequest& request);
    std::string perform(const ExtendRequest& request);
    std::string perform(const AttachGpuRequest& request);
    std::string perform(const WaitRequest& request);
    std::string perform(const LeaveRequest& request);
    std::string perform(const ParkRequest& request);
    std::string perform(const ResumeRequest& request);

  private:
    /// Calls without a prompt first, and again with one only if that is not sufficient.
    void authorized(const std::string& what, const std::function<void(Client&)>& call);
    void postNews(std::string text, bool isBad);

    Mailbox& mailbox_;
    ServiceConnection link_;
    bool mayAskPassword_;
    int stop_;
};

} // namespace genv::top
