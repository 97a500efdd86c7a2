// SPDX-License-Identifier: LGPL-2.1-or-later
// A message without a destination, as sdbus-c++ creates one for the value of a variant. The library
// has the function, but no header declares it.
#pragma once

#include "dbus/contract/raw_bus.hpp"

#include <sdbus-c++/sdbus-c++.h>

namespace sdbus {

PlainMessage createPlainMessage();

} // namespace sdbus

namespace genv::tests {

/// Returns a message that is ready to be read.
template <typename Values>
sdbus::PlainMessage messageOf(const Values& values) {
    sdbus::PlainMessage message = sdbus::createPlainMessage();
    message << values;
    message.seal();
    return message;
}

/// Returns a message with rows that are written without sdbus-c++.
template <typename Rows>
sdbus::PlainMessage messageWith(const Rows& rows) {
    sdbus::PlainMessage message = sdbus::createPlainMessage();
    dbus::raw::Writer writer(message);
    writeRows(writer, rows);
    message.seal();
    return message;
}

} // namespace genv::tests
