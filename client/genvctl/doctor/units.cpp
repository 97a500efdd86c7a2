// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/doctor/units.hpp"

#include "client/unit_failure.hpp"

#include <cstdlib>
#include <memory>
#include <new>

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
    found.load = bus.text(unit, "LoadState");
    found.active = bus.text(unit, "ActiveState");
    found.file = bus.text(unit, "UnitFileState");
    if (found.active != "failed")
        return found;
    const client::UnitFailure failure{
        bus.text(service, "Result"), bus.number(service, "ExecMainCode"),
        bus.number(service, "ExecMainStatus"), bus.text(service, "StatusText"),
        bus.count(service, "NRestarts")};
    found.status = failure.status;
    found.why = client::reasonOf(failure);
    return found;
}

std::string unitPath(const std::string& name) {
    char* path = nullptr;
    if (sd_bus_path_encode(unitPrefix, name.c_str(), &path) < 0)
        throw std::bad_alloc();
    const std::unique_ptr<char, decltype(&std::free)> owner(path, &std::free);
    return path;
}

std::vector<std::string> unitsThatRequire(const SystemBus& bus, const std::string& name) {
    return bus.texts({systemd, unitPath(name).c_str(), unitInterface}, "RequiredBy");
}

} // namespace genv::ctl::doctor
