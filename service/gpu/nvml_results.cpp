// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/gpu/nvml_results.hpp"

#include "core/base/text.hpp"

#include <algorithm>
#include <array>

namespace genv::service {

namespace {

using nvml::Return;

constexpr std::size_t maxForeignTextLength = 200;

template <std::size_t N>
bool isOneOf(Return result, const std::array<Return, N>& results) {
    return std::find(results.begin(), results.end(), result) != results.end();
}

} // namespace

bool isMissingDriver(Return result) {
    return result == Return::DriverNotLoaded || result == Return::LibraryNotFound;
}

bool isAbsence(Return result) {
    constexpr std::array absences{Return::NotSupported,     Return::NoPermission,
                                  Return::InvalidArgument,  Return::NotFound,
                                  Return::FunctionNotFound, Return::ArgumentVersionMismatch,
                                  Return::NotReady};
    return isOneOf(result, absences);
}

bool isLoss(Return result) {
    constexpr std::array losses{Return::GpuIsLost, Return::ResetRequired, Return::GpuNotFound};
    return isOneOf(result, losses);
}

bool succeeded(Return result) {
    constexpr std::array ofDriver{Return::Uninitialized,   Return::DriverNotLoaded,
                                  Return::LibraryNotFound, Return::LibRmVersionMismatch,
                                  Return::Memory,          Return::InsufficientResources};
    if (isLoss(result))
        throw GpuFailure{result};
    if (isOneOf(result, ofDriver))
        throw DriverFailure{result};
    return result == Return::Success;
}

void require(Return result) {
    if (!succeeded(result))
        throw GpuFailure{result};
}

std::string showable(std::string_view foreign) {
    return core::escaped(foreign, maxForeignTextLength);
}

} // namespace genv::service
