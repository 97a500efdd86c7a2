// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/doctor/units.hpp"

#include "client/unit_failure.hpp"
#include "dbus/contract/raw_bus.hpp"

namespace genv::ctl::doctor {

namespace {

constexpr const char* systemd = "org.freedesktop.systemd1";
constexpr const char* unitPrefix = "/org/freedesktop/systemd1/unit";
constexpr const char* unitInterface = "org.freedesktop.systemd1.Unit";
constexpr const char* serviceInterface = "org.freedesktop.systemd1.Service";

} // namespace

std::optional<Unit> unitAt(const SystemBus& bus, const char* path) {
    if (!bus.hasOwner(systemd))
        return std::nullopt;
    const BusObject unit{systemd, path, unitInterface};
    const BusObject service{systemd, path, serviceInterface};
    Unit found;
    found.load = bus.property<std::string>(unit, "LoadState");
    found.active = bus.property<std::string>(unit, "ActiveState");
    found.file = bus.property<std::string>(unit, "UnitFileState");
    if (found.active != "failed")
        return found;
    const client::UnitFailure failure{bus.property<std::string>(service, "Result"),
                                      bus.property<std::int32_t>(service, "ExecMainCode"),
                                      bus.property<std::int32_t>(service, "ExecMainStatus"),
                                      bus.property<std::string>(service, "StatusText"),
                                      bus.property<std::uint32_t>(service, "NRestarts")};
    found.status = failure.status;
    found.why = client::reasonOf(failure);
    return found;
}

std::string unitPath(const std::string& name) {
    return dbus::raw::encodePath(unitPrefix, name);
}

std::vector<std::string> unitsThatRequire(const SystemBus& bus, const std::string& name) {
    return bus.property<std::vector<std::string>>({systemd, unitPath(name).c_str(), unitInterface},
                                                  "RequiredBy");
}

} // namespace genv::ctl::doctor
