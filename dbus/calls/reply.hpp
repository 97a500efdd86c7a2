// SPDX-License-Identifier: LGPL-2.1-or-later
// The reply to a call, which may be sent later. The caller always gets exactly one reply: the
// value, an error or, if the handler abandoned the call, an error that says so. The only exception
// is the end of the service, during which no replies are sent. Every handler runs inside guarded(),
// so that no foreign exception reaches sdbus-c++.
#pragma once

#include "dbus/calls/callers.hpp"
#include "dbus/calls/errors.hpp"
#include "dbus/calls/refusals.hpp"
#include "dbus/calls/written_result.hpp"

#include <sdbus-c++/sdbus-c++.h>

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

namespace genv::dbus {

/// A received call: its method and its caller.
struct Call {
    const policy::MethodRow& method;
    Caller caller;
    Refusals& refusals;
    const bool& isEnding;                    ///< the service is ending
    policy::Target target{};                 ///< target of the call, as far as it is known
    std::optional<policy::Action> missing{}; ///< the missing authorization
};

/// Describes a refused call for the listener. `fault` is the text of an internal error.
Refusal describeRefusal(const policy::MethodRow& method, const std::string& connection,
                        const core::Error& error, const std::string& fault);

/// Describes a refused call whose caller and target may be known.
Refusal describeRefusal(const Call& call, const core::Error& error, const std::string& fault);

/// The reply to a call; copies share it.
template <typename... Values>
class Reply {
  public:
    using Result = typename ResultOf<Values...>::Type;

    Reply(Result&& result, Call call)
        : state_(std::make_shared<State>(std::move(result), std::move(call))) {}

    [[nodiscard]] const Call& call() const { return state_->call; }
    [[nodiscard]] const Caller& caller() const { return state_->call.caller; }

    /// Sets the target of the call, for the listener of refusals.
    void about(const policy::Target& target) const { state_->call.target = target; }
    /// Sets the missing authorization.
    void misses(policy::Action action) const { state_->call.missing = action; }

    void send(const Values&... values) const {
        if (std::exchange(state_->answered, true))
            return;
        try {
            state_->result.returnResults(values...);
        } catch (...) {
            // The reply was not sent, for lack of memory or descriptors. The caller then gets an
            // error.
            state_->answered = false;
            throw;
        }
    }

    void refuse(const core::Error& error, const std::string& fault = {}) const {
        state_->refuse(error, fault);
    }

    /// Abandons the call, since its caller has disconnected. No part of its handler runs any more.
    void drop() const {
        state_->answered = true;
        state_->dropped = true;
    }

    /// Runs a part of the handler; an exception becomes the error reply.
    template <typename Function>
    void guarded(Function&& function) const {
        if (state_->dropped)
            return;
        try {
            std::forward<Function>(function)();
        } catch (...) {
            std::string fault;
            const core::Error error = currentRefusal(fault);
            refuse(error, fault);
        }
    }

    /// Returns a function that runs a part of the handler later, guarded.
    template <typename Function>
    [[nodiscard]] auto later(Function function) const {
        return [reply = *this, function = std::move(function)](auto&&... arguments) {
            reply.guarded([&] { function(std::forward<decltype(arguments)>(arguments)...); });
        };
    }

  private:
    struct State {
        State(Result&& pending, Call received)
            : result(std::move(pending)), call(std::move(received)) {}
        State(const State&) = delete;
        State& operator=(const State&) = delete;
        ~State() {
            // When the service ends, the bus tells the callers that there is no reply.
            if (call.isEnding)
                return;
            refuse({core::ErrorCode::Internal, "the call was given up"},
                   "nobody answered the call");
        }

        void refuse(const core::Error& error, const std::string& fault) {
            if (std::exchange(answered, true))
                return;
            call.refusals.refused(describeRefusal(call, error, fault));
            try {
                result.returnError(toBusError(error));
            } catch (const sdbus::Error&) {
                // The bus is gone, and every caller with it.
            }
        }

        Result result;
        Call call;
        bool answered = false;
        bool dropped = false;
    };

    std::shared_ptr<State> state_;
};

} // namespace genv::dbus
