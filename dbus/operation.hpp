// SPDX-License-Identifier: LGPL-2.1-or-later
// A call that takes several steps. Each is a member function of a class of its own, so that the
// call reads from top to bottom; it lives for as long as something will take the next step.
#pragma once

#include "dbus/reply.hpp"

#include <functional>
#include <memory>
#include <utility>

namespace genv::dbus {

/// The base of `Steps`, whose member functions are the steps. It is made by std::make_shared().
template <typename Steps, typename Answer>
class Operation : public std::enable_shared_from_this<Steps> {
  protected:
    explicit Operation(Answer reply) : reply_(std::move(reply)) {}

    [[nodiscard]] const Caller& caller() const { return reply_.caller(); }

    /// A step that comes later: what it throws becomes the refusal, and this lives until then.
    template <typename Step>
    [[nodiscard]] auto later(Step step) {
        return reply_.later([self = this->shared_from_this(), step](auto&&... arguments) {
            std::invoke(step, *self, std::forward<decltype(arguments)>(arguments)...);
        });
    }

    const Answer reply_;
};

} // namespace genv::dbus
