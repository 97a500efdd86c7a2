// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/doctor/login_requirements.hpp"

#include <fmt/ranges.h>

#include <map>
#include <utility>

namespace genv::ctl::doctor {

namespace {

constexpr const char* loader = "genv-isolation.service";
constexpr const char* bootGate = "genv-isolation-required.service";

// Whether systemd would have started the unit at boot. A static unit has no symbolic links of its
// own, such as systemd-user-sessions.service.
bool isStopped(const Unit& unit) {
    return unit.load == "loaded" && unit.file != "disabled" &&
           (unit.active == "inactive" || unit.active == "failed");
}

std::vector<std::string> namesOf(const std::vector<RequiringUnit>& units,
                                 bool (*isMeant)(const RequiringUnit&)) {
    std::vector<std::string> names;
    for (const RequiringUnit& each : units) {
        if (isMeant(each))
            names.push_back(each.name);
    }
    return names;
}

} // namespace

std::vector<RequiringUnit> unitsThatRequireIsolation(const SystemBus& bus) {
    std::map<std::string, bool> requireLoader;
    for (const char* required : {bootGate, loader}) {
        for (const std::string& name : unitsThatRequire(bus, required))
            requireLoader[name] |= required == loader;
    }
    std::vector<RequiringUnit> units;
    for (const auto& [name, requiresLoader] : requireLoader) {
        if (auto unit = unitAt(bus, unitPath(name).c_str()))
            units.push_back({name, *std::move(unit), requiresLoader});
    }
    return units;
}

std::string stoppedClause(const std::vector<RequiringUnit>& units) {
    const auto stopped =
        namesOf(units, [](const RequiringUnit& each) { return isStopped(each.unit); });
    if (stopped.empty())
        return "";
    return stopped.size() == 1
               ? fmt::format("{} does not run, because it requires isolation", stopped.front())
               : fmt::format("{} do not run, because they require isolation",
                             fmt::join(stopped, ", "));
}

std::optional<DoctorFinding> judgeRequirements(const std::vector<RequiringUnit>& units) {
    if (std::string stopped = stoppedClause(units); !stopped.empty())
        return DoctorFinding{DoctorVerdict::Problem, std::move(stopped),
                             "As root: systemctl restart genv-isolation && systemctl start "
                             "multi-user.target"};
    const auto fragile =
        namesOf(units, [](const RequiringUnit& each) { return each.requiresLoader; });
    if (fragile.empty())
        return std::nullopt;
    return DoctorFinding{
        DoctorVerdict::Warning,
        fmt::format("{} with genv-isolation.service, also when a restart of it fails",
                    fragile.size() == 1 ? fragile.front() + " stops"
                                        : fmt::format("{} stop", fmt::join(fragile, ", "))),
        "As root, remove Requires=genv-isolation.service there, then: systemctl "
        "enable --now genv-isolation-required"};
}

} // namespace genv::ctl::doctor
