// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/calls/errors.hpp"

#include "dbus/contract/names.hpp"
#include "dbus/contract/sdbus_compat.hpp"

#include <exception>

namespace genv::dbus {

const char* busErrorName(core::ErrorCode code) {
    namespace name = contract::error;
    switch (code) {
    case core::ErrorCode::NoSuchEnvironment:
        return name::noSuchEnvironment;
    case core::ErrorCode::NoSuchDevice:
        return name::noSuchDevice;
    case core::ErrorCode::NoSuchProcess:
        return name::noSuchProcess;
    case core::ErrorCode::DeviceUnavailable:
        return name::deviceUnavailable;
    case core::ErrorCode::NotEnoughDevices:
        return name::notEnoughDevices;
    case core::ErrorCode::AlreadyExists:
        return name::alreadyExists;
    case core::ErrorCode::QuotaExceeded:
        return name::quotaExceeded;
    case core::ErrorCode::NotAttached:
        return name::notAttached;
    case core::ErrorCode::NoSuchWait:
        return name::noSuchWait;
    case core::ErrorCode::Busy:
        return name::busy;
    case core::ErrorCode::AccessDenied:
        return name::accessDenied;
    case core::ErrorCode::InteractiveAuthorizationRequired:
        return name::interactiveAuthorizationRequired;
    case core::ErrorCode::InvalidArgs:
        return name::invalidArgs;
    case core::ErrorCode::LimitsExceeded:
        return name::limitsExceeded;
    case core::ErrorCode::NotSupported:
        return name::notSupported;
    case core::ErrorCode::CannotPark:
        return name::cannotPark;
    case core::ErrorCode::NotParked:
        return name::notParked;
    case core::ErrorCode::NoHostMemory:
        return name::noHostMemory;
    case core::ErrorCode::Timeout:
        return name::timeout;
    case core::ErrorCode::StorageFailed:
    case core::ErrorCode::IsolationFailed:
    case core::ErrorCode::SlurmFailed:
        return name::ioError;
    case core::ErrorCode::Internal:
        break;
    }
    return name::failed;
}

sdbus::Error toBusError(const core::Error& error) {
    return compat::makeError(busErrorName(error.code()), error.what());
}

core::Error currentRefusal(std::string& fault) {
    try {
        throw;
    } catch (const core::Error& error) {
        if (error.code() != core::ErrorCode::Internal)
            return error;
        fault = error.what();
    } catch (const std::exception& error) {
        fault = error.what();
    } catch (...) {
        fault = "an exception of an unknown type";
    }
    return {core::ErrorCode::Internal, "an internal error; the service's log says more"};
}

} // namespace genv::dbus
