// SPDX-License-Identifier: LGPL-2.1-or-later
// The result of a call as Reply sends it. Most methods have an sdbus::Result. Where a result may
// have a hundred thousand rows, that would take a variant object for each value, so such rows are
// written by a function of their own: writeRows(raw::Writer&, const Rows&).
#pragma once

#include "dbus/contract/raw_bus.hpp"

#include <sdbus-c++/sdbus-c++.h>

#include <utility>

namespace genv::dbus {

/// Stands in for the sdbus::Result of a received call.
template <typename Rows>
class WrittenResult {
  public:
    explicit WrittenResult(raw::Message call) : call_(std::move(call)) {}

    void returnResults(const Rows& rows) const {
        call_.reply([&rows](raw::Writer& writer) { writeRows(writer, rows); });
    }
    void returnError(const sdbus::Error& error) const {
        call_.refuse(error.getName().c_str(), error.getMessage());
    }

  private:
    raw::Message call_;
};

/// The type of a method's result. Rows that are written specialize it.
template <typename... Values>
struct ResultOf {
    using Type = sdbus::Result<Values...>;
};

} // namespace genv::dbus
