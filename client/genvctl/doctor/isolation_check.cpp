// SPDX-License-Identifier: LGPL-2.1-or-later
// Checks whether the mode configured by Isolation= in genvd.conf is in force.
#include "client/genvctl/common/service_program.hpp"
#include "client/genvctl/common/system_bus.hpp"
#include "client/genvctl/doctor/checks.hpp"
#include "client/genvctl/doctor/login_requirements.hpp"
#include "client/genvctl/doctor/units.hpp"
#include "client/genvctl/reports/isolation_report.hpp"
#include "core/base/user_database.hpp"
#include "core/sentences/sentences.hpp"
#include "dbus/contract/names.hpp"

#include <fmt/ranges.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace genv::ctl::doctor {

namespace {

using enum DoctorVerdict;

constexpr const char* loaderPath = "/org/freedesktop/systemd1/unit/genv_2disolation_2eservice";
constexpr std::string_view none = "none";

// The uids that isolation never refuses, beside root's.
using Ranges = std::vector<sdbus::Struct<std::uint32_t, std::uint32_t>>;

struct Described {
    IsolationState state;
    Ranges exempt;
    std::optional<bool> guardsRenderNodes; ///< unset: the service does not know
};

Described isolationOf(const SystemBus& bus) {
    const auto entries =
        bus.call<std::map<std::string, sdbus::Variant>>(manager, "DescribeIsolation");
    const auto read = [&entries](const char* key, auto& value) {
        if (const auto entry = entries.find(key); entry != entries.end())
            value = entry->second.get<std::remove_cvref_t<decltype(value)>>();
    };
    Described described;
    read("mode", described.state.mode);
    read("wanted", described.state.wanted);
    read("trouble", described.state.trouble);
    read("unguarded", described.state.unguarded);
    read("suspended", described.state.suspended);
    read("exempt", described.exempt);
    if (bool guards = false; entries.contains("render-nodes")) {
        read("render-nodes", guards);
        described.guardsRenderNodes = guards;
    }
    return described;
}

// Returns the users whom isolation never refuses, such as "Exempt: root, uids 1-999, alice (1001)".
std::string exemptions(const Ranges& exempt) {
    constexpr std::size_t shownRanges = 12;
    std::vector<std::string> texts{"root"};
    for (const auto& range : exempt) {
        const std::uint32_t first = std::get<0>(range);
        const std::uint32_t last = std::get<1>(range);
        if (texts.size() > shownRanges) {
            texts.push_back(core::counted(exempt.size() - shownRanges, "more range"));
            break;
        }
        const auto user = first == last ? core::shownUser(first) : std::nullopt;
        texts.push_back(user            ? fmt::format("{} ({})", user->name, first)
                        : first == last ? fmt::format("uid {}", first)
                                        : fmt::format("uids {}-{}", first, last));
    }
    return fmt::format("Exempt: {}.", fmt::join(texts, ", "));
}

// The administrator asks before the first configuration.
DoctorFinding ofMachine() {
    const std::string obstacle = obstacleToIsolation();
    if (obstacle.empty())
        return {Ok, "not configured: every user can open every GPU", ""};
    return {Warning,
            fmt::format("not configured, and it cannot work on this machine: {}", obstacle),
            "isolation.md says what isolation needs."};
}

DoctorFinding ofFailedLoader(const Unit& loader, const std::vector<RequiringUnit>& requiring) {
    const std::string stopped = stoppedClause(requiring);
    return {Problem,
            fmt::format("genv-isolation.service has failed: {}{}{}", loader.why,
                        stopped.empty() ? "" : "; ", stopped),
            fmt::format("As root: \"journalctl -u genv-isolation\" says why; then systemctl "
                        "restart genv-isolation{}",
                        stopped.empty() ? "" : " && systemctl start multi-user.target")};
}

DoctorFinding ofState(const Described& described) {
    const IsolationState& state = described.state;
    if (state.wanted == none)
        return ofMachine();
    if (state.suspended)
        return {Warning, isolationSentence(state), "As root: genvctl isolation on"};
    if (const IsolationTrouble trouble = isolationTrouble(state); !trouble.what.empty())
        return {Problem,
                state.mode == none
                    ? fmt::format("Isolation={} is not in force: {}", state.wanted, trouble.what)
                    : trouble.what,
                trouble.advice};
    if (!isAsWanted(state))
        return {Problem, isolationSentence(state),
                "As root: systemctl restart genv-isolation && systemctl reload genvd"};
    std::string found = isolationSentence(state);
    found += ' ' + exemptions(described.exempt);
    if (described.guardsRenderNodes)
        found += ' ' + renderNodesSentence(*described.guardsRenderNodes, state.mode != none) + '.';
    return {Ok, std::move(found), ""};
}

} // namespace

DoctorFinding checkIsolation(const SystemPlaces& /*places*/) {
    const SystemBus bus;
    if (const auto loader = unitAt(bus, loaderPath)) {
        const auto requiring = unitsThatRequireIsolation(bus);
        if (loader->active == "failed")
            return ofFailedLoader(*loader, requiring);
        if (auto found = judgeRequirements(requiring))
            return *std::move(found);
    }
    if (!bus.hasOwner(dbus::contract::busName))
        return {Ok, "genvd is not running", ""};
    return ofState(isolationOf(bus));
}

} // namespace genv::ctl::doctor
