// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/base/user_database.hpp"

#include <grp.h>
#include <pwd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <memory>
#include <system_error>

namespace genv::core {

namespace {

constexpr std::size_t firstBuffer = std::size_t{16} << 10;
// Enough for a group with millions of members. A larger entry is an error of the database.
constexpr std::size_t maxBuffer = std::size_t{64} << 20;
// More than the kernel allows a process to have.
constexpr std::size_t maxGroups = std::size_t{1} << 20;

// getpwnam(3) lists the errors that mean "no such entry".
bool meansNoEntry(int error) {
    return error == 0 || error == ENOENT || error == ESRCH || error == EBADF || error == EPERM;
}

// Calls `look`, a function such as getpwuid_r(3), with a buffer that grows until the entry fits,
// and returns what `copy` makes of the entry.
template <typename Entry, typename Look, typename Copy>
auto find(const Look& look, const Copy& copy) -> std::optional<decltype(copy(Entry{}))> {
    std::size_t size = firstBuffer;
    auto buffer = std::make_unique_for_overwrite<char[]>(size);
    for (;;) {
        Entry entry{};
        Entry* found = nullptr;
        const int error = look(&entry, buffer.get(), size, &found);
        if (found != nullptr)
            return copy(*found);
        if (error == EINTR)
            continue;
        if (error == ERANGE && size < maxBuffer) {
            size *= 4;
            buffer = std::make_unique_for_overwrite<char[]>(size);
            continue;
        }
        if (meansNoEntry(error))
            return std::nullopt;
        throw UserDatabaseError(std::generic_category().message(error));
    }
}

std::string textOf(const char* value) {
    return value != nullptr ? value : "";
}

std::optional<std::uint32_t> numberIn(const std::string& text) {
    std::uint32_t number = 0;
    const char* end = text.data() + text.size();
    const auto [after, error] = std::from_chars(text.data(), end, number);
    return error == std::errc() && after == end ? std::optional(number) : std::nullopt;
}

UserEntry copyUser(const ::passwd& entry) {
    return {textOf(entry.pw_name), entry.pw_uid, entry.pw_gid, textOf(entry.pw_dir),
            textOf(entry.pw_shell)};
}

GroupEntry copyGroup(const ::group& entry) {
    return {textOf(entry.gr_name), entry.gr_gid};
}

} // namespace

std::optional<UserEntry> userWithUid(Uid uid) {
    return find<::passwd>([uid](auto... to) { return ::getpwuid_r(uid, to...); }, copyUser);
}

std::optional<UserEntry> userNamed(const std::string& name) {
    return find<::passwd>([&name](auto... to) { return ::getpwnam_r(name.c_str(), to...); },
                          copyUser);
}

std::optional<UserEntry> shownUser(Uid uid) {
    try {
        return userWithUid(uid);
    } catch (const UserDatabaseError&) {
        return std::nullopt;
    }
}

std::optional<GroupEntry> groupWithGid(Gid gid) {
    return find<::group>([gid](auto... to) { return ::getgrgid_r(gid, to...); }, copyGroup);
}

std::optional<GroupEntry> groupNamed(const std::string& name) {
    return find<::group>([&name](auto... to) { return ::getgrnam_r(name.c_str(), to...); },
                         copyGroup);
}

std::optional<Uid> uidOf(const std::string& name) {
    const auto user = userNamed(name);
    return user ? user->uid : numberIn(name);
}

std::optional<Gid> gidOf(const std::string& name) {
    const auto group = groupNamed(name);
    return group ? group->gid : numberIn(name);
}

std::vector<Gid> groupsOf(const UserEntry& user) {
    std::vector<gid_t> groups(256);
    for (;;) {
        int count = static_cast<int>(groups.size());
        if (::getgrouplist(user.name.c_str(), user.gid, groups.data(), &count) >= 0) {
            groups.resize(static_cast<std::size_t>(count));
            return {groups.begin(), groups.end()};
        }
        if (groups.size() >= maxGroups)
            throw UserDatabaseError("more groups than a user can have");
        // The function has set the number that it needs.
        groups.resize(std::max(2 * groups.size(), static_cast<std::size_t>(count)));
    }
}

} // namespace genv::core
