// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/calls/reply.hpp"

#include "core/base/text.hpp"

namespace genv::dbus {

Refusal describeRefusal(const policy::MethodRow& method, const std::string& connection,
                        const core::Error& error, const std::string& fault) {
    // Refusals contain only escaped foreign text, but the text of a fault may be anything.
    return {method,
            connection,
            std::nullopt,
            error.code(),
            busErrorName(error.code()),
            fault.empty() ? std::string(error.what()) : core::escaped(fault, 256),
            {},
            std::nullopt};
}

Refusal describeRefusal(const Call& call, const core::Error& error, const std::string& fault) {
    Refusal refusal = describeRefusal(call.method, call.caller.busName, error, fault);
    if (!call.caller.busName.empty())
        refusal.caller = call.caller.actor();
    refusal.target = call.target;
    refusal.missing = call.missing;
    return refusal;
}

} // namespace genv::dbus
