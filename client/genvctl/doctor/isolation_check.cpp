// SPDX-License-Identifier: LGPL-2.1-or-later
// Checks whether the mode configured by Isolation= in genvd.conf is in force.
#include "client/genvctl/common/service_program.hpp"
#include "client/genvctl/common/system_bus.hpp"
#include "client/genvctl/doctor/checks.hpp"
#include "client/genvctl/doctor/login_requirements.hpp"
#include "client/genvctl/doctor/units.hpp"
#include "client/genvctl/reports/isolation.hpp"
#include "core/sentences.hpp"
#include "core/user_database.hpp"
#include "dbus/contract/names.hpp"

#include <fmt/ranges.h>

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace genv::ctl::doctor {

namespace {

using enum Verdict;

constexpr const char* loaderPath = "/org/freedesktop/systemd1/unit/genv_2disolation_2eservice";
constexpr std::string_view none = "none";

std::string text(sd_bus_message* message) {
    const char* value = "";
    sd_bus_message_read(message, "v", "s", &value);
    return value;
}

std::vector<std::uint32_t> numbers(sd_bus_message* message) {
    std::vector<std::uint32_t> values;
    sd_bus_message_enter_container(message, 'v', "au");
    sd_bus_message_enter_container(message, 'a', "u");
    for (std::uint32_t value = 0; sd_bus_message_read(message, "u", &value) > 0;)
        values.push_back(value);
    sd_bus_message_exit_container(message);
    sd_bus_message_exit_container(message);
    return values;
}

// The uids that isolation never refuses, beside root's.
using Ranges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

Ranges ranges(sd_bus_message* message) {
    Ranges values;
    sd_bus_message_enter_container(message, 'v', "a(uu)");
    sd_bus_message_enter_container(message, 'a', "(uu)");
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    while (sd_bus_message_read(message, "(uu)", &first, &last) > 0)
        values.emplace_back(first, last);
    sd_bus_message_exit_container(message);
    sd_bus_message_exit_container(message);
    return values;
}

struct Described {
    IsolationState state;
    Ranges exempt;
    std::optional<bool> guardsRenderNodes; ///< unset: the service does not know
};

bool flag(sd_bus_message* message) {
    int value = 0;
    sd_bus_message_read(message, "v", "b", &value);
    return value != 0;
}

void readEntry(sd_bus_message* message, Described& described) {
    IsolationState& state = described.state;
    const char* name = "";
    sd_bus_message_read(message, "s", &name);
    const std::string_view key = name;
    if (key == "mode")
        state.mode = text(message);
    else if (key == "wanted")
        state.wanted = text(message);
    else if (key == "trouble")
        state.trouble = text(message);
    else if (key == "unguarded")
        state.unguarded = numbers(message);
    else if (key == "exempt")
        described.exempt = ranges(message);
    else if (key == "suspended")
        state.suspended = flag(message);
    else if (key == "render-nodes")
        described.guardsRenderNodes = flag(message);
    else
        sd_bus_message_skip(message, "v");
}

Described isolationOf(const SystemBus& bus) {
    const auto reply = bus.call(manager, "DescribeIsolation");
    Described described;
    sd_bus_message_enter_container(reply.get(), 'a', "{sv}");
    while (sd_bus_message_enter_container(reply.get(), 'e', "sv") > 0) {
        readEntry(reply.get(), described);
        sd_bus_message_exit_container(reply.get());
    }
    return described;
}

// Returns the users whom isolation never refuses, such as "Exempt: root, uids 1-999, alice (1001)".
std::string exemptions(const Ranges& exempt) {
    constexpr std::size_t shownRanges = 12;
    std::vector<std::string> texts{"root"};
    for (const auto& [first, last] : exempt) {
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
Finding ofMachine() {
    const std::string obstacle = obstacleToIsolation();
    if (obstacle.empty())
        return {Ok, "not configured: every user can open every GPU", ""};
    return {Warning,
            fmt::format("not configured, and it cannot work on this machine: {}", obstacle),
            "isolation.md says what isolation needs."};
}

Finding ofFailedLoader(const Unit& loader, const std::vector<RequiringUnit>& requiring) {
    const std::string stopped = stoppedClause(requiring);
    return {Problem,
            fmt::format("genv-isolation.service has failed: {}{}{}", loader.why,
                        stopped.empty() ? "" : "; ", stopped),
            fmt::format("As root: \"journalctl -u genv-isolation\" says why; then systemctl "
                        "restart genv-isolation{}",
                        stopped.empty() ? "" : " && systemctl start multi-user.target")};
}

Finding ofState(const Described& described) {
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

Finding checkIsolation(const Places& /*places*/) {
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
