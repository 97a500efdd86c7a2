// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/link/jobs_unavailable.hpp"

#include "core/base/user_database.hpp"

#include <fmt/format.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace genv::jobs {

namespace {

constexpr std::string_view noReply = "org.freedesktop.DBus.Error.NoReply";
constexpr std::string_view masked = "org.freedesktop.systemd1.UnitMasked";

// The bus does not know how to start genv-jobs.
constexpr std::array unknownNames{
    std::string_view("org.freedesktop.DBus.Error.ServiceUnknown"),
    std::string_view("org.freedesktop.DBus.Error.NameHasNoOwner"),
    std::string_view("org.freedesktop.systemd1.NoSuchUnit"),
};

constexpr std::array otherNames{
    noReply,
    std::string_view("org.freedesktop.DBus.Error.NoServer"),
    std::string_view("org.freedesktop.DBus.Error.Disconnected"),
    std::string_view("org.freedesktop.DBus.Error.TimedOut"),
    std::string_view("System.Error.ENOTCONN"),
    std::string_view("System.Error.ECONNRESET"),
};

bool contains(const auto& names, std::string_view name) {
    return std::ranges::find(names, name) != names.end();
}

// What works without a user's manager, too.
constexpr const char* withoutJobs =
    "\"nohup genvctl run --wait -- COMMAND &\" keeps a command here without it.";

std::string nameOfCaller() {
    try {
        if (const auto user = core::shownUser(geteuid()))
            return user->name;
    } catch (const core::UserDatabaseError&) {
        // The uid can be typed, too.
    }
    return std::to_string(geteuid());
}

} // namespace

UserBusPlaces userBusPlaces() {
    const std::string folder = fmt::format("/run/user/{}", geteuid());
    return {sd_booted() > 0, access(folder.c_str(), F_OK) == 0, nameOfCaller()};
}

Unavailable noUserBus(const std::string& address, const std::string& why,
                      const UserBusPlaces& places) {
    const std::string what = fmt::format(
        "jobs need systemd's user manager, and your bus {} cannot be reached: {}", address, why);
    if (!places.isBooted)
        return {what,
                fmt::format("This machine or container does not run systemd. {}", withoutJobs)};
    if (!places.hasRuntimeFolder)
        return {what, fmt::format("You are not logged in here. Log in with ssh, or let root run "
                                  "\"loginctl enable-linger {}\".",
                                  places.user)};
    return {what, "As root, install the package dbus-user-session, then log in again."};
}

bool meansUnavailable(const std::string& error) {
    return contains(unknownNames, error) || contains(otherNames, error) ||
           error.starts_with("org.freedesktop.DBus.Error.Spawn.") ||
           error.starts_with("org.freedesktop.systemd1.");
}

Unavailable notReached(const std::string& error, const std::string& message) {
    if (error == noReply)
        return {fmt::format("genv-jobs ended before it answered: {}", message),
                "\"genvctl jobs\" shows what it has recorded."};
    if (error == masked)
        return {"genv-jobs cannot start: its unit is masked",
                "\"systemctl --user unmask genv-jobs\" allows it to start."};
    if (contains(unknownNames, error))
        return {fmt::format("genv-jobs cannot start: {}", message),
                "The package genv is not installed completely, or was installed after your login: "
                "\"systemctl --user daemon-reload\" makes it known."};
    return {fmt::format("genv-jobs cannot start: {}", message),
            "\"systemctl --user status genv-jobs\" shows why."};
}

} // namespace genv::jobs
