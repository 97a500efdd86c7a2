// SPDX-License-Identifier: LGPL-2.1-or-later
// The checks that use the bus: the bus itself, the service, polkit, the exporter and the versions.
#include "client/genvctl/common/system_bus.hpp"
#include "client/genvctl/doctor/checks.hpp"
#include "client/genvctl/doctor/units.hpp"
#include "dbus/contract/names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace genv::ctl::doctor {

namespace {

using enum DoctorVerdict;

constexpr BusObject polkit{"org.freedesktop.PolicyKit1", "/org/freedesktop/PolicyKit1/Authority",
                           "org.freedesktop.PolicyKit1.Authority", true};
constexpr const char* anyLocale = "";
constexpr const char* servicePath = "/org/freedesktop/systemd1/unit/genvd_2eservice";
constexpr const char* exporterPath = "/org/freedesktop/systemd1/unit/genv_2dmonitor_2eservice";
// The exit status of a service with an invalid configuration.
constexpr std::int32_t exitConfiguration = 78;

DoctorFinding ofStoppedService(const SystemBus& bus) {
    const auto unit = unitAt(bus, servicePath);
    if (!unit)
        return {Problem, "genvd is not running, and no systemd on this bus can start it",
                "Start genvd as genvd(8) describes."};
    if (unit->load == "masked")
        return {Problem, "genvd.service is masked",
                "As root: systemctl unmask genvd && systemctl start genvd"};
    if (unit->load != "loaded")
        return {Problem, "genvd.service is not installed", "Install the package genv."};
    if (unit->active == "failed")
        return {Problem, "genvd.service has failed: " + unit->why,
                unit->status == exitConfiguration
                    ? "As root, correct the file, then: systemctl restart genvd"
                    : "As root: \"journalctl -u genvd\" says why; then systemctl restart genvd"};
    if (!bus.canStart(dbus::contract::busName))
        return {Problem, "genvd is not running, and the bus cannot start it",
                "As root: systemctl start genvd"};
    return {Warning, "genvd is not running; the next request starts it",
            "As root: systemctl start genvd"};
}

// An action of polkit. The first member is its id.
using PolkitAction =
    sdbus::Struct<std::string, std::string, std::string, std::string, std::string, std::string,
                  std::uint32_t, std::uint32_t, std::uint32_t, std::map<std::string, std::string>>;

std::size_t countGenvActions(const SystemBus& bus) {
    const auto actions =
        bus.call<std::vector<PolkitAction>>(polkit, "EnumerateActions", std::string(anyLocale));
    return static_cast<std::size_t>(std::ranges::count_if(actions, [](const PolkitAction& action) {
        return std::get<0>(action).starts_with("dev.genv.manager.");
    }));
}

} // namespace

DoctorFinding checkBus(const SystemPlaces& /*places*/) {
    try {
        const SystemBus bus;
        if (!bus.hasOwner(dbus::contract::busName))
            return {Ok, "the system bus answers", ""};
        std::ignore = bus.property<std::string>(manager, "Version");
    } catch (const NoBus& error) {
        return {Problem, error.what(), "As root: systemctl status dbus"};
    } catch (const CallFailed& error) {
        if (error.name() == dbus::contract::error::accessDenied)
            return {Problem, "the system bus rejects requests to genvd",
                    "Install the package genv again, then, as root: systemctl reload dbus"};
        // Any other reply of genvd, or none, is for the check of the service.
    }
    return {Ok, "the system bus answers and delivers requests to genvd", ""};
}

DoctorFinding checkService(const SystemPlaces& /*places*/) {
    const SystemBus bus;
    if (!bus.hasOwner(dbus::contract::busName))
        return ofStoppedService(bus);
    try {
        return {Ok,
                fmt::format("genvd {} is running", bus.property<std::string>(manager, "Version")),
                ""};
    } catch (const CallFailed& error) {
        return {Problem,
                error.isLate()
                    ? "genvd is running but does not answer within 2 s"
                    : fmt::format("genvd is running but refuses to answer: {}", error.what()),
                "As root: \"journalctl -u genvd\" may say why; \"systemctl restart genvd\" keeps "
                "all environments."};
    }
}

DoctorFinding checkPolkit(const SystemPlaces& /*places*/) {
    const SystemBus bus;
    if (!bus.hasOwner(polkit.service) && !bus.canStart(polkit.service))
        return {Problem, "polkit is missing: requests that need its answer are refused",
                "Install the package polkitd."};
    try {
        if (const auto count = countGenvActions(bus); count > 0)
            return {Ok, fmt::format("polkit answers and knows genv's {} actions", count), ""};
    } catch (const CallFailed& error) {
        return {Problem,
                error.isLate() ? "polkit does not answer within 2 s"
                               : fmt::format("cannot ask polkit: {}", error.what()),
                "As root: \"journalctl -u polkit\" may say why; then systemctl restart polkit"};
    }
    return {Problem,
            "polkit does not know genv's actions: requests that need its answer are refused",
            "Install the package genv again, then, as root: systemctl restart polkit"};
}

DoctorFinding checkExporter(const SystemPlaces& /*places*/) {
    const SystemBus bus;
    const auto unit = unitAt(bus, exporterPath);
    if (!unit)
        return {Ok, "no systemd on this bus, so no exporter", ""};
    if (unit->load != "loaded")
        return {Ok, "not installed (package genv-monitor)", ""};
    if (unit->active == "failed")
        return {Problem, "genv-monitor.service has failed: " + unit->why,
                "As root: \"journalctl -u genv-monitor\" says why; then systemctl restart "
                "genv-monitor"};
    if (unit->active == "active")
        return {Ok, "genv-monitor.service is running", ""};
    if (unit->file == "enabled")
        return {Warning, "genv-monitor.service is enabled but not running",
                "As root: systemctl start genv-monitor"};
    return {Ok, "genv-monitor.service is installed but not enabled", ""};
}

DoctorFinding checkVersions(const SystemPlaces& /*places*/) {
    const SystemBus bus;
    if (!bus.hasOwner(dbus::contract::busName))
        return {Ok, "genvctl " GENV_VERSION "; genvd is not running", ""};
    const std::string service = bus.property<std::string>(manager, "Version");
    if (service == GENV_VERSION)
        return {Ok, "genvctl and genvd are " GENV_VERSION, ""};
    return {Warning,
            fmt::format("genvctl is {}, but the running genvd is {}", GENV_VERSION, service),
            "As root: \"systemctl restart genvd\" starts the installed version and keeps all "
            "environments."};
}

} // namespace genv::ctl::doctor
