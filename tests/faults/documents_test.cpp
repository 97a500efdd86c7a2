// SPDX-License-Identifier: LGPL-2.1-or-later
// The state folder contains invalid files, or is removed. The service starts, users keep their
// devices, and nothing outside the folder is touched.
#include "tests/faults/fixture.hpp"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <chrono>
#include <deque>

namespace genv::tests {
namespace {

class Documents : public FaultTest {
  protected:
    static std::filesystem::path folder() { return Service::stateFolder(); }
    static std::filesystem::path documentOf(const std::string& id) {
        return folder() /
               (std::filesystem::path(environmentPath(id)).filename().string() + ".json");
    }
    static std::string read(const std::filesystem::path& file) {
        std::ifstream stream(file);
        return {std::istreambuf_iterator<char>(stream), {}};
    }

    /// Returns the user's own GPU-seconds.
    static std::uint64_t useOf(Client& client) {
        const Answer answer = client.manager("ListUse", "a{sv}", 0);
        std::uint64_t seconds = 0;
        if (answer.ok() &&
            sd_bus_message_enter_container(answer.message.get(), 'a', "(ustu)") > 0 &&
            sd_bus_message_enter_container(answer.message.get(), 'r', "ustu") > 0)
            sd_bus_message_read(answer.message.get(), "ust", nullptr, nullptr, &seconds);
        return seconds;
    }

    UserProcess shell{alice};
    const std::string id = activate(*asAlice, shell, 2);
    const std::string before = describe(id);
};

TEST_F(Documents, ThatAreNoFilesOrSomebodyElsesAreSetAside) {
    const std::string secret = (folder().parent_path() / "secret").string();
    std::ofstream(secret) << "not the service's";
    const std::string good = read(documentOf(id));
    // Valid documents, except that users could have written them.
    std::deque<UserProcess> processes;
    for (const char* name : {"link", "alices", "anybodys"})
        ASSERT_EQ(asBob
                      ->manager("Activate", "a{sv}", 2, "pid", "u",
                                processes.emplace_back(bob).pid(), "id", "s", name)
                      .readString(),
                  name);
    service.end(SIGKILL);
    std::filesystem::rename(documentOf("link"), folder().parent_path() / "elsewhere");
    std::filesystem::create_symlink(folder().parent_path() / "elsewhere", documentOf("link"));
    ASSERT_EQ(::chown(documentOf("alices").c_str(), alice, alice), 0);
    ASSERT_EQ(::chmod(documentOf("anybodys").c_str(), 0622), 0);
    std::filesystem::create_symlink(secret, folder() / "_41.json");
    std::filesystem::create_symlink("/dev/zero", folder() / "_42.json");
    ASSERT_EQ(::mkfifo((folder() / "_43.json").c_str(), 0600), 0);
    std::filesystem::create_directories(folder() / "_44.json" / "full");
    if (::mknod((folder() / "_45.json").c_str(), S_IFCHR | 0600, makedev(1, 5)) < 0) {
        ASSERT_EQ(errno, EPERM);
    }
    std::ofstream(folder() / "_46.json") << good;
    std::filesystem::resize_file(folder() / "_46.json", std::uintmax_t{1} << 40);
    std::filesystem::create_directories(folder().parent_path() / "broken" / "_43.json" /
                                        "in the way");
    service.start();
    EXPECT_EQ(describe(id), before);
    EXPECT_EQ(environmentCount(), "1");
    EXPECT_EQ(read(secret), "not the service's");
    EXPECT_FALSE(shell.hasEnded());
    // A file that could not even be moved affects nothing else.
    EXPECT_TRUE(std::filesystem::exists(std::filesystem::symlink_status(folder() / "_43.json")));
    const UserProcess another(bob);
    EXPECT_EQ(asBob->manager("Activate", "a{sv}", 2, "pid", "u", another.pid(), "id", "s", "C")
                  .readString(),
              "C")
        << "whose document's name the fifo has";
    service.restart(SIGKILL);
    EXPECT_EQ(describe(id), before);
    EXPECT_EQ(environmentCount(), "2");
    std::filesystem::remove_all(folder().parent_path() / "broken");
}

// Every length to which a document can be cut and every wrong bit, all in one start each.
// tests/faults/ledger_test.cpp checks the result of each.
TEST_F(Documents, CutAnywhereAreSetAsideAndTheOthersServe) {
    const std::string good = read(documentOf(id));
    ASSERT_GT(good.size(), 100U);
    service.end(SIGKILL);
    for (std::size_t length = 0; length < good.size(); ++length)
        std::ofstream(folder() / ("_5f" + std::to_string(length) + ".json"))
            << good.substr(0, length);
    service.start();
    EXPECT_EQ(describe(id), before);
    EXPECT_EQ(environmentCount(), "1");
    const auto files = std::distance(std::filesystem::directory_iterator(folder()),
                                     std::filesystem::directory_iterator());
    EXPECT_EQ(files, 1);
    std::filesystem::remove_all(folder().parent_path() / "broken");
}

TEST_F(Documents, OfALaterReleaseAreKeptForIt) {
    std::string later = read(documentOf(id));
    service.end(SIGKILL);
    const std::size_t version = later.find("\"version\":");
    ASSERT_NE(version, std::string::npos);
    later.insert(version + 10, "9");
    std::ofstream(documentOf(id)) << later;
    service.start();
    EXPECT_EQ(environmentCount(), "0");
    EXPECT_FALSE(shell.hasEnded()) << "nothing is killed for it";
    const std::filesystem::path kept =
        folder().parent_path() / "broken" / documentOf(id).filename();
    EXPECT_EQ(read(kept), later);
    std::filesystem::remove_all(folder().parent_path() / "broken");
}

TEST_F(Documents, WhoseFolderIsRemovedAreWrittenAgain) {
    const UserProcess another(bob);
    const std::string his = activate(*asBob, another, 1);
    const std::string hisState = describe(his);
    const std::string document = read(documentOf(id));
    for (const std::filesystem::path& gone : {folder(), folder().parent_path() / "shell"})
        std::filesystem::remove_all(gone);
    // The next change detects it.
    EXPECT_TRUE(asBob->environment(his, "Configure", "a{sv}as", 1, "gpus", "u", 3U, 0).ok());
    waitUntil([&] { return read(documentOf(id)) == document; }, "the other document");
    waitUntil([&] { return shellFile(id) == devicesOf(id) && shellFile(his) == devicesOf(his); },
              "the shells' files");
    service.restart(SIGKILL);
    EXPECT_EQ(describe(id), before);
    EXPECT_NE(describe(his), hisState);
    EXPECT_EQ(holders().size(), 3U);
    expectShellFilesFor({id, his});
}

// Without a change, the next sample of the GPUs detects it.
TEST_F(Documents, WhoseFolderIsRemovedAreWrittenAgainAtTheNextLook) {
    std::ofstream(Service::configurationFolder() / "genvd.conf") << "[Enforcement]\nInterval=1s\n";
    service.restart(SIGTERM);
    const std::string document = read(documentOf(id));
    for (const std::filesystem::path& gone : {folder(), folder().parent_path() / "shell"}) {
        SCOPED_TRACE(gone);
        std::filesystem::remove_all(gone);
        waitUntil(
            [&] { return read(documentOf(id)) == document && shellFile(id) == devicesOf(id); },
            "the files");
    }
    service.restart(SIGKILL);
    EXPECT_EQ(describe(id), before);
}

// Otherwise a user could lose their use by a crash right after they release a GPU.
TEST_F(Documents, RememberTheUseOfAUserWhoHoldsNothingIfTheOrderIsFair) {
    std::ofstream(Service::configurationFolder() / "genvd.conf") << "[Queue]\nOrder=fair\n";
    ASSERT_TRUE(asRoot->manager("Reload").ok());
    injector.setBoot(std::chrono::hours{1});
    ASSERT_TRUE(asAlice->environment(id, "Detach", "au", 0).ok());
    service.restart(SIGKILL);
    EXPECT_GT(useOf(*asAlice), 3600U) << "of two GPUs for an hour, which counts a little less";
}

TEST_F(Documents, WhoseFolderIsMissingAtTheStartMakeIt) {
    service.end(SIGTERM);
    for (const char* name : {"environments", "shell"})
        std::filesystem::remove_all(folder().parent_path() / name);
    service.start();
    EXPECT_EQ(environmentCount(), "0");
    EXPECT_FALSE(shell.hasEnded());
    const std::string again = activate(*asAlice, shell, 1);
    service.restart(SIGKILL);
    EXPECT_EQ(devicesOf(again), "0");
}

} // namespace
} // namespace genv::tests
