// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/common/exit_status.hpp"

#include "dbus/contract/jobs_names.hpp"
#include "dbus/contract/names.hpp"

#include <array>
#include <string_view>

namespace genv::ctl {

namespace {

namespace names = dbus::contract::error;

// The library's error for a service that does not start because of its configuration.
constexpr std::string_view wrongConfiguration = "org.freedesktop.DBus.Error.Spawn.ConfigInvalid";

// systemd's error for a unit that an administrator has masked.
constexpr std::string_view maskedUnit = "org.freedesktop.systemd1.UnitMasked";

// systemd's error for a unit that does not exist.
constexpr std::string_view noSuchUnit = "org.freedesktop.systemd1.NoSuchUnit";

struct Meaning {
    std::string_view name;
    ExitStatus status;
    const char* hint;
};

constexpr std::array meanings{
    Meaning{names::noSuchEnvironment, ExitStatus::Failed,
            "\"genvctl envs\" lists the environments."},
    Meaning{names::noSuchDevice, ExitStatus::Failed, "\"genvctl devices\" lists the devices."},
    Meaning{names::noSuchProcess, ExitStatus::Failed, ""},
    Meaning{names::notAttached, ExitStatus::Failed,
            "\"genvctl devices\" shows the holder of each device."},
    Meaning{names::noSuchWait, ExitStatus::Failed, "\"genvctl queue\" shows the waiting requests."},
    Meaning{names::noSuchJob, ExitStatus::Failed, "\"genvctl jobs --all\" lists your jobs."},
    Meaning{names::alreadyExists, ExitStatus::Failed, ""},
    Meaning{names::quotaExceeded, ExitStatus::QuotaExceeded,
            "\"genvctl limits\" shows your limits and your use."},
    Meaning{names::limitsExceeded, ExitStatus::QuotaExceeded, ""},
    Meaning{names::busy, ExitStatus::Failed, "Try again in a moment."},
    Meaning{names::timeout, ExitStatus::Failed,
            "Try again; \"systemctl status genvd\" may show more."},
    Meaning{names::invalidArgs, ExitStatus::Usage, ""},
    Meaning{names::accessDenied, ExitStatus::NotAuthorized,
            "Ask an administrator, or do it as root."},
    Meaning{names::interactiveAuthorizationRequired, ExitStatus::NotAuthorized,
            "Do it on a terminal, to be asked for a password, or as root."},
    Meaning{names::deviceUnavailable, ExitStatus::NoDevice,
            "\"--wait\" waits in the queue; \"genvctl devices\" shows the holder of each device."},
    Meaning{names::notEnoughDevices, ExitStatus::NoDevice,
            "\"genvctl devices\" lists the devices."},
};

// Returns the failure of a call that reached no service. The bus itself refuses a connection to a
// user who has too many.
Failure unavailable(const Error& error) {
    if (error.name() == names::limitsExceeded)
        return {ExitStatus::NoService, std::string("Cannot connect: ") + error.what(),
                "End programs that use the bus, such as waiting commands, or, as root, raise "
                "max_connections_per_user in /etc/dbus-1/system.conf."};
    const char* hint = "As root, \"systemctl status genvd\" shows why; \"systemctl start genvd\" "
                       "starts it.";
    if (error.name() == wrongConfiguration)
        hint = "As root, correct the file, then run \"systemctl restart genvd\".";
    else if (error.name() == maskedUnit)
        hint = "An administrator has masked it. As root, \"systemctl unmask genvd\" allows it to "
               "start.";
    else if (error.name() == noSuchUnit)
        hint = "The package genv was removed, or is not installed completely. Ask an administrator "
               "to install it.";
    return {ExitStatus::NoService,
            std::string("The service genvd is not available: ") + error.what(), hint};
}

} // namespace

Failure toFailure(const Error& error) {
    if (dynamic_cast<const ServiceUnavailable*>(&error) != nullptr)
        return unavailable(error);
    for (const Meaning& meaning : meanings) {
        if (error.name() == meaning.name)
            return {meaning.status, error.what(), meaning.hint};
    }
    return {ExitStatus::Failed, error.what()};
}

} // namespace genv::ctl
