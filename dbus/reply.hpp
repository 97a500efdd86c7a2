// SPDX-License-Identifier: LGPL-2.1-or-later
// The answer to a call that may come later. Whatever happens to the work in between, the caller
// gets exactly one answer: the value, a refusal, or, when everybody let go of the call, an error
// that says so; but for the end of the service, which nobody is answered in. Every handler runs
// inside guarded(), so that no foreign exception reaches sdbus-c++.
#pragma once

#include "dbus/callers.hpp"
#include "dbus/errors.hpp"
#include "dbus/refusals.hpp"

#include <sdbus-c++/sdbus-c++.h>

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

namespace genv::dbus {

/// A call that was received: which method, and from whom.
struct Call {
    const policy::MethodRow& method;
    Caller caller;
    Refusals& refusals;
    const bool& isEnding;                    ///< of the service
    policy::Target target{};                 ///< what it is about, as far as that is known
    std::optional<policy::Action> missing{}; ///< the authorisation that was not given
};

/// A refused call for whoever hears of it; `fault` is what an internal error said.
Refusal describeRefusal(const policy::MethodRow& method, const std::string& connection,
                        const core::Error& error, const std::string& fault);

/// The same of a call whose caller and target may be known.
Refusal describeRefusal(const Call& call, const core::Error& error, const std::string& fault);

/// The answer to a call; copies share it.
template <typename... Values>
class Reply {
  public:
    Reply(sdbus::Result<Values...>&& result, Call call)
        : state_(std::make_shared<State>(std::move(result), std::move(call))) {}

    [[nodiscard]] const Call& call() const { return state_->call; }
    [[nodiscard]] const Caller& caller() const { return state_->call.caller; }

    /// What the call turned out to be about, for whoever hears of its refusal.
    void about(const policy::Target& target) const { state_->call.target = target; }
    /// The authorisation that was not given.
    void misses(policy::Action action) const { state_->call.missing = action; }

    void send(const Values&... values) const {
        if (std::exchange(state_->answered, true))
            return;
        try {
            state_->result.returnResults(values...);
        } catch (...) {
            // It did not go out, for want of memory or descriptors: then the caller is told that
            // something failed.
            state_->answered = false;
            throw;
        }
    }

    void refuse(const core::Error& error, const std::string& fault = {}) const {
        state_->refuse(error, fault);
    }

    /// Gives the call up: its caller is gone, and nobody is there to be answered. No part of its
    /// handler runs any more.
    void drop() const {
        state_->answered = true;
        state_->dropped = true;
    }

    /// Runs a part of the handler; what it throws becomes the refusal.
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

    /// A part of the handler that runs later, guarded.
    template <typename Function>
    [[nodiscard]] auto later(Function function) const {
        return [reply = *this, function = std::move(function)](auto&&... arguments) {
            reply.guarded([&] { function(std::forward<decltype(arguments)>(arguments)...); });
        };
    }

  private:
    struct State {
        State(sdbus::Result<Values...>&& pending, Call received)
            : result(std::move(pending)), call(std::move(received)) {}
        State(const State&) = delete;
        State& operator=(const State&) = delete;
        ~State() {
            // A service that ends leaves its callers to the bus, which says that there is no reply.
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

        sdbus::Result<Values...> result;
        Call call;
        bool answered = false;
        bool dropped = false;
    };

    std::shared_ptr<State> state_;
};

} // namespace genv::dbus
