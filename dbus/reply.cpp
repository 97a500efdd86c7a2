// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/reply.hpp"

namespace genv::dbus {

void logRefusal(core::Log& log, const policy::MethodRow& method, const std::string& from,
                const core::Error& error, const std::string& fault) {
    const bool serious =
        error.code() == core::ErrorCode::Internal || error.code() == core::ErrorCode::StorageFailed;
    // Refusals quote foreign text escaped already; what a fault says may be anything.
    const std::string text = fault.empty() ? std::string(error.what()) : core::escaped(fault, 256);
    log.write(serious ? core::Severity::Error : core::Severity::Notice,
              fmt::format("refused {}.{} from {}: {}: {}", method.interface, method.member, from,
                          busErrorName(error.code()), text));
}

} // namespace genv::dbus
