// SPDX-License-Identifier: LGPL-2.1-or-later
// The one place that turns an error into an error of the bus, and the reply to a call.
#pragma once

#include "client/jobs/model/job_error.hpp"
#include "dbus/contract/raw_bus.hpp"

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace genv::jobs {

/// An error as the bus has it.
struct BusError {
    const char* name = "";
    std::string text;
};

/// Returns the error of the bus for the exception that is being handled.
[[nodiscard]] BusError currentBusError();

/// The reply to a call; copies share it. It may be sent later. Every call gets exactly one reply,
/// also if its handler throws or drops this object. A caller that has left gets none, which harms
/// nobody.
class JobReply {
  public:
    using Write = std::function<void(dbus::raw::Writer&)>;

    /// `open` counts the calls that were not replied to yet.
    JobReply(dbus::raw::Message call, std::shared_ptr<std::size_t> open);

    /// Sends the values that `write` writes. What `write` throws is passed on, and nothing was
    /// sent.
    void send(const Write& write) const;

    /// Runs a part of the handler. An exception becomes the reply.
    template <typename Function>
    void guarded(Function&& function) const {
        try {
            std::forward<Function>(function)();
        } catch (...) {
            refuse(currentBusError());
        }
    }

  private:
    struct State;

    void refuse(const BusError& error) const;

    std::shared_ptr<State> state_;
};

} // namespace genv::jobs
