// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/reports/isolation_report.hpp"

#include "client/genvctl/terminal/terminal_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

namespace genv::ctl {

namespace {

constexpr std::string_view none = "none";
constexpr std::string_view watch = "watch";

bool contains(const std::vector<std::uint32_t>& indices, std::uint32_t index) {
    return std::ranges::find(indices, index) != indices.end();
}

// Returns the devices by index.
std::set<std::uint32_t> devicesOf(const IsolationState& state) {
    std::set<std::uint32_t> devices(state.guarded.begin(), state.guarded.end());
    devices.insert(state.unguarded.begin(), state.unguarded.end());
    return devices;
}

// The service names the devices that it can guard, whatever the mode.
bool isGuarded(const IsolationState& state, std::uint32_t index) {
    return state.mode != none && contains(state.guarded, index);
}

std::string deviceLine(const IsolationState& state, std::uint32_t index) {
    return fmt::format("GPU {}: {}{}\n", index, isGuarded(state, index) ? "guarded" : "not guarded",
                       contains(state.open, index) ? ", open to everybody (IsolationOpenDevices=)"
                                                   : "");
}

// Earlier services report the number of a node in place of its name.
std::string nodeText(const RefusedOpen& refused) {
    const bool isNumber = refused.node.find_first_not_of("0123456789:") == std::string::npos;
    return refused.device && isNumber ? fmt::format("GPU {}", *refused.device) : refused.node;
}

} // namespace

bool isAsWanted(const IsolationState& state) {
    return state.mode == state.wanted && state.trouble.empty();
}

std::string isolationSentence(const IsolationState& state) {
    if (state.mode == watch)
        return "Isolation watches: the kernel counts users who open a GPU that they do not hold, "
               "and refuses nothing.";
    if (state.mode != none)
        return "Isolation is on: the kernel refuses a GPU to users who do not hold it.";
    if (state.suspended)
        return "Isolation is suspended: until the next boot or \"genvctl isolation on\" every user "
               "can open every GPU.";
    if (state.wanted != none)
        return fmt::format("Isolation={} is configured but not in force: every user may be able to "
                           "open every GPU.",
                           state.wanted);
    return "Isolation is off: it is not configured, so every user can open every GPU.";
}

IsolationTrouble isolationTrouble(const IsolationState& state) {
    if (state.trouble.empty())
        return {};
    if (state.mode == none)
        return {state.trouble, "As root: \"journalctl -u genvd -u genv-isolation\" says more; then "
                               "systemctl restart genv-isolation"};
    return {state.trouble,
            "As root: \"journalctl -u genvd\" says more. After a change of genvd.conf: "
            "systemctl restart genv-isolation && systemctl reload genvd"};
}

std::string renderNodesSentence(bool areGuarded, bool isInForce) {
    if (areGuarded && !isInForce)
        return "Render nodes (/dev/dri) of GPUs: not guarded";
    return areGuarded ? "Render nodes (/dev/dri) of GPUs: guarded"
                      : "Render nodes (/dev/dri) of GPUs: open to everybody "
                        "(IsolationRenderNodes=no)";
}

std::string isolationText(const IsolationState& state) {
    std::string text = isolationSentence(state) + '\n';
    if (state.wanted == none)
        return text;
    text += fmt::format("Configured: Isolation={}\n", shown(state.wanted));
    for (const std::uint32_t index : devicesOf(state))
        text += deviceLine(state, index);
    text += renderNodesSentence(state.guardsRenderNodes, state.mode != none) + '\n';
    if (const IsolationTrouble trouble = isolationTrouble(state); !trouble.what.empty())
        text += fmt::format("Problem: {}\n{}\n", shown(trouble.what), trouble.advice);
    return text;
}

Json isolationJson(const IsolationState& state) {
    Json devices = Json::array();
    for (const std::uint32_t index : devicesOf(state))
        devices.push_back({{"index", index},
                           {"guarded", isGuarded(state, index)},
                           {"open", contains(state.open, index)}});
    return {{"mode", state.mode},
            {"wanted", state.wanted},
            {"suspended", state.suspended},
            {"trouble", state.trouble.empty() ? Json(nullptr) : Json(state.trouble)},
            {"render_nodes_guarded", state.guardsRenderNodes && state.mode != none},
            {"devices", std::move(devices)}};
}

Table refusalTable(const std::vector<RefusedOpen>& refusals, const UserNames& user,
                   const TimeTexts& time) {
    Table table(
        {{"LAST", 16}, {"USER", 16}, {"NODE", 16}, {"TIMES", 8}, {"PID", 9}, {"PROGRAM", 0}});
    for (const RefusedOpen& each : refusals)
        table.add({time(each.last), fmt::format("{}({})", user(each.uid), each.uid), nodeText(each),
                   std::to_string(each.count), each.pid == 0 ? "" : std::to_string(each.pid),
                   each.command});
    return table;
}

Json refusalJson(const std::vector<RefusedOpen>& refusals, const UserNames& user) {
    Json json = Json::array();
    for (const RefusedOpen& each : refusals)
        json.push_back({{"last", toJson(each.last)},
                        {"uid", each.uid},
                        {"user", user(each.uid)},
                        {"device", orNull(each.device)},
                        {"node", each.node},
                        {"count", each.count},
                        {"pid", each.pid == 0 ? Json(nullptr) : Json(each.pid)},
                        {"program", each.pid == 0 ? Json(nullptr) : Json(each.command)}});
    return json;
}

} // namespace genv::ctl
