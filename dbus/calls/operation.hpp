// SPDX-License-Identifier: LGPL-2.1-or-later
// A call with several steps. Each call has a class of its own, whose member functions are the
// steps, so that it can be read from top to bottom. The object exists as long as a next step is
// pending.
#pragma once

#include "dbus/calls/reply.hpp"

#include <functional>
#include <memory>
#include <utility>

namespace genv::dbus {

/// The base class of `Steps`, whose member functions are the steps. Create it with
/// std::make_shared().
template <typename Steps, typename Answer>
class Operation : public std::enable_shared_from_this<Steps> {
  protected:
    explicit Operation(Answer reply) : reply_(std::move(reply)) {}

    [[nodiscard]] const Caller& caller() const { return reply_.caller(); }

    /// Returns a function that runs a later step. It keeps this object alive. An exception becomes
    /// the error reply.
    template <typename Step>
    [[nodiscard]] auto later(Step step) {
        return reply_.later([self = this->shared_from_this(), step](auto&&... arguments) {
            std::invoke(step, *self, std::forward<decltype(arguments)>(arguments)...);
        });
    }

    const Answer reply_;
};

} // namespace genv::dbus
