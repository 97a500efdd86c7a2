// SPDX-License-Identifier: LGPL-2.1-or-later
// Fails to build if a method of the interface XML has no row or two rows in the authorization
// table, or if a row has no method.
#include "dbus/members.hpp"
#include "policy/actions.hpp"

namespace genv::dbus {

namespace {

constexpr bool everyMethodHasOneRow() {
    for (const MethodName& method : methods) {
        if (policy::countRows(method.interface, method.member) != 1)
            return false;
    }
    return true;
}

static_assert(everyMethodHasOneRow(),
              "a method of the XML has no row, or two, in policy/actions.hpp");
static_assert(methods.size() == policy::methodTable.size(),
              "policy/actions.hpp has a row for no method of the XML");

} // namespace

} // namespace genv::dbus
