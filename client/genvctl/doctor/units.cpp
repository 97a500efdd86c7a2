// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/doctor/units.hpp"

#include <fmt/format.h>

namespace genv::ctl::doctor {

namespace {

constexpr const char* systemd = "org.freedesktop.systemd1";
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
    found.status = bus.number(service, "ExecMainStatus");
    found.why = bus.text(service, "StatusText");
    if (found.why.empty())
        found.why = fmt::format("{}, status {}", bus.text(service, "Result"), found.status);
    return found;
}

} // namespace genv::ctl::doctor
