// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/reports/fair_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace genv::ctl {

namespace {

// Compares use in proportion to the weights, without rounding.
bool isBefore(const UserUse& one, const UserUse& other) {
    return std::pair(one.gpuSeconds * other.weight, one.uid) <
           std::pair(other.gpuSeconds * one.weight, other.uid);
}

Json toJson(const UserUse& user) {
    return {{"uid", user.uid},
            {"user", user.user},
            {"gpu_seconds", user.gpuSeconds},
            {"weight", user.weight}};
}

std::string hoursText(std::uint64_t seconds) {
    return fmt::format("{:.2f}", static_cast<double>(seconds) / 3600);
}

} // namespace

void printFairReport(Context& context, const ListingOptions& options) {
    std::vector<UserUse> users =
        context.authorized([](Client& client) { return client.use(true); });
    std::ranges::sort(users, isBefore);
    Json json = Json::array();
    for (const UserUse& user : users)
        json.push_back(toJson(user));
    if (printJson(context.options, json))
        return;
    Table table({{"USER", 33}, {"GPU-HOURS", 16}, {"WEIGHT"}});
    for (const UserUse& user : users)
        table.add({user.user, hoursText(user.gpuSeconds), std::to_string(user.weight)});
    options.print(context.options, std::move(table));
}

} // namespace genv::ctl
