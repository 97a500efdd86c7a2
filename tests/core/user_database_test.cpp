// SPDX-License-Identifier: LGPL-2.1-or-later
// Entries of the user database of any size. The functions of the C library are replaced by a
// database whose answers the test chooses.
#include "core/base/user_database.hpp"

#include <grp.h>
#include <gtest/gtest.h>
#include <pwd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

namespace genv::tests {
namespace {

struct Database {
    std::size_t needed = 0;  // bytes of the only entry
    int interruptions = 0;   // calls that a signal interrupts
    int error = 0;           // of every call, if not 0
    bool isEmpty = false;    // there is no such entry
    std::size_t groups = 1;  // of the user
    std::size_t largest = 0; // the largest buffer so far
};

Database database;
char entryName[] = "CORP\\jdoe";

int answer(std::size_t size) {
    database.largest = std::max(database.largest, size);
    if (database.interruptions > 0) {
        --database.interruptions;
        return EINTR;
    }
    if (database.error != 0)
        return database.error;
    return size < database.needed ? ERANGE : 0;
}

int user(passwd* entry, std::size_t size, passwd** found) {
    *found = nullptr;
    const int error = answer(size);
    if (error == 0 && !database.isEmpty) {
        *entry = {};
        entry->pw_name = entryName;
        entry->pw_uid = 1001;
        *found = entry;
    }
    return error;
}

int group(::group* entry, std::size_t size, ::group** found) {
    *found = nullptr;
    const int error = answer(size);
    if (error == 0 && !database.isEmpty) {
        *entry = {};
        entry->gr_name = entryName;
        entry->gr_gid = 1101;
        *found = entry;
    }
    return error;
}

} // namespace
} // namespace genv::tests

extern "C" {
int getpwuid_r(uid_t /*uid*/, passwd* entry, char* /*buffer*/, std::size_t size, passwd** found) {
    return genv::tests::user(entry, size, found);
}
int getpwnam_r(const char* /*name*/, passwd* entry, char* /*buffer*/, std::size_t size,
               passwd** found) {
    return genv::tests::user(entry, size, found);
}
int getgrgid_r(gid_t /*gid*/, group* entry, char* /*buffer*/, std::size_t size, group** found) {
    return genv::tests::group(entry, size, found);
}
int getgrnam_r(const char* /*name*/, group* entry, char* /*buffer*/, std::size_t size,
               group** found) {
    return genv::tests::group(entry, size, found);
}
int getgrouplist(const char* /*user*/, gid_t group, gid_t* groups, int* count) {
    const auto room = static_cast<std::size_t>(*count);
    const std::size_t all = genv::tests::database.groups;
    for (std::size_t n = 0; n < std::min(room, all); ++n)
        groups[n] = group + static_cast<gid_t>(n);
    *count = static_cast<int>(all);
    return room < all ? -1 : static_cast<int>(all);
}
}

namespace genv::tests {
namespace {

class UserDatabase : public testing::Test {
  protected:
    ~UserDatabase() override { database = {}; }

    // Calls each look-up, and returns how many found their entry.
    static int found() {
        return static_cast<int>(core::userWithUid(1001).has_value()) +
               static_cast<int>(core::userNamed("jdoe").has_value()) +
               static_cast<int>(core::groupWithGid(1101).has_value()) +
               static_cast<int>(core::groupNamed("students").has_value());
    }
    static int failures() {
        int count = 0;
        const auto attempt = [&](const auto& look) {
            try {
                look();
            } catch (const core::UserDatabaseError&) {
                ++count;
            }
        };
        attempt([] { core::userWithUid(1001); });
        attempt([] { core::userNamed("jdoe"); });
        attempt([] { core::groupWithGid(1101); });
        attempt([] { core::groupNamed("students"); });
        return count;
    }
};

TEST_F(UserDatabase, GivesEntriesOfAnySizeAPersonCanHave) {
    // A group of 3 500 members, one of 100 000, and one of millions.
    for (const std::size_t size :
         {std::size_t{1}, std::size_t{70'000}, std::size_t{2'000'000}, std::size_t{60'000'000}}) {
        database.needed = size;
        EXPECT_EQ(found(), 4) << size;
    }
    EXPECT_EQ(core::userWithUid(1001)->name, "CORP\\jdoe") << "names stay as they are";
}

TEST_F(UserDatabase, FailsForAnEntryWithoutEnd) {
    database.needed = std::size_t{1} << 40;
    EXPECT_EQ(failures(), 4);
    EXPECT_LE(database.largest, std::size_t{64} << 20);
}

TEST_F(UserDatabase, AsksAgainAfterASignal) {
    database.interruptions = 3;
    EXPECT_EQ(found(), 4);
}

TEST_F(UserDatabase, TellsAMissingEntryFromADatabaseThatFails) {
    database.isEmpty = true;
    EXPECT_EQ(found(), 0);
    for (const int error : {ENOENT, ESRCH, EBADF, EPERM}) {
        database.error = error;
        EXPECT_EQ(found(), 0) << std::strerror(error);
    }
    for (const int error : {EIO, EMFILE, ENOMEM, ETIMEDOUT}) {
        database.error = error;
        EXPECT_EQ(failures(), 4) << std::strerror(error);
        EXPECT_FALSE(core::shownUser(1001)) << "a uid is shown instead";
    }
}

TEST_F(UserDatabase, GivesAllGroupsOfAUser) {
    for (const std::size_t count : std::initializer_list<std::size_t>{1, 256, 257, 1025, 65'536}) {
        database.groups = count;
        const auto groups = core::groupsOf({"jdoe", 1001, 7, "", ""});
        ASSERT_EQ(groups.size(), count);
        EXPECT_EQ(groups.front(), 7U);
    }
}

} // namespace
} // namespace genv::tests
