// SPDX-License-Identifier: LGPL-2.1-or-later
// The state of a host without a service on its bus, with a stand-in for ssh: the output of the old
// genv, and the conclusion if there is none.
#include "client/remote/fleet/host_state.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>

namespace genv::remote {
namespace {

/// A stand-in for ssh that logs every call in a file, reports no bus on any host, and runs this
/// shell code for any other remote command.
class NoBus : public testing::Test {
  protected:
    void SetUp() override {
        std::string name = testing::TempDir() + "genv-ssh-XXXXXX";
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        folder_ = name;
        path_ = std::getenv("PATH");
        setenv("PATH", (folder_.string() + ":" + path_).c_str(), 1);
    }
    void TearDown() override {
        setenv("PATH", path_.c_str(), 1);
        std::filesystem::remove_all(folder_);
    }

    void farCommandIs(const std::string& code, const std::string& bus = "exit 127") {
        const std::filesystem::path file = folder_ / "ssh";
        std::ofstream(file) << "#!/bin/sh\n"
                            << "for word; do :; done\n" // the last word: the remote command
                            << "printf '%s\\n' \"$word\" >>" << folder_.string() << "/calls\n"
                            << "case $word in\n*systemd-stdio-bridge*) " << bus << " ;;\nesac\n"
                            << code << '\n';
        std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    }
    void farOutputIs(const std::string& text) {
        std::ofstream(folder_ / "output") << text;
        farCommandIs("exec cat " + (folder_ / "output").string());
    }

    static HostState state() { return readHostState({"h1", std::nullopt, std::nullopt}, bounds()); }
    static SshBounds bounds() { return {std::chrono::minutes{1}, nullptr}; }

    static HostFailure failure() {
        try {
            state();
        } catch (const HostFailure& failure) {
            return failure;
        }
        return {Trouble::Cancelled, "it answered"};
    }
    std::vector<std::string> calls() {
        std::ifstream file(folder_ / "calls");
        std::vector<std::string> lines;
        for (std::string line; std::getline(file, line);)
            lines.push_back(line);
        return lines;
    }

  private:
    std::filesystem::path folder_;
    std::string path_;
};

Time localTime(int year, int month, int day, int hour, int minute, int second) {
    std::tm time{};
    time.tm_year = year - 1900;
    time.tm_mon = month - 1;
    time.tm_mday = day;
    time.tm_hour = hour;
    time.tm_min = minute;
    time.tm_sec = second;
    time.tm_isdst = -1;
    return std::chrono::time_point_cast<Time::duration>(
        std::chrono::system_clock::from_time_t(std::mktime(&time)));
}

std::string snapshotWith(const std::string& environments, const std::string& devices) {
    return R"({"processes": {"processes": []}, "envs": {"envs": [)" + environments +
           R"(]}, "devices": {"devices": [)" + devices + "]}}\n";
}

std::string environment(const std::string& id, const std::string& name,
                        const std::string& kernels = "[]") {
    return R"({"eid": ")" + id +
           R"(", "uid": 1002, "creation": "31/12/2023 23:59:58", "username": "bob", "config": )"
           R"({"name": )" +
           name + R"(, "gpu_memory": null, "gpus": 1}, "pids": [1234, 5], "kernel_ids": )" +
           kernels + '}';
}

TEST_F(NoBus, TheOldGenvTellsTheSame) {
    farOutputIs(
        snapshotWith(environment("77", R"("old work")") + "," + environment("78", "null"),
                     R"({"index": 1, "total_memory": "16384mi", "attachments": []},)"
                     R"({"index": 0, "total_memory": "16g", "attachments": [)"
                     R"({"eid": "77", "gpu_memory": null, "time": "01/02/2024 03:04:05"},)"
                     R"({"eid": "gone", "gpu_memory": "4g", "time": "01/02/2024 03:04:05"}]})"));
    const HostState found = state();
    EXPECT_EQ(found.genv, Genv::Old);
    ASSERT_EQ(found.devices.size(), 2U);
    EXPECT_EQ(found.devices[0].index, 0U);
    EXPECT_EQ(found.devices[0].totalMemoryBytes, 16'000'000'000U);
    EXPECT_EQ(found.devices[1].index, 1U);
    EXPECT_EQ(found.devices[1].totalMemoryBytes, 17'179'869'184U);
    EXPECT_EQ(found.devices[0].uuid + found.devices[0].model, "");
    EXPECT_FALSE(found.isFree(found.devices[0]));
    EXPECT_TRUE(found.isFree(found.devices[1]));
    ASSERT_EQ(found.environments.size(), 2U);
    EXPECT_EQ(found.environments[0].id, "77");
    EXPECT_EQ(found.environments[0].uid, 1002U);
    EXPECT_EQ(found.environments[0].user, "bob");
    EXPECT_EQ(found.environments[0].name, "old work");
    EXPECT_EQ(found.environments[0].created, localTime(2023, 12, 31, 23, 59, 58));
    EXPECT_EQ(found.environments[0].processes, (std::vector<std::uint32_t>{1234, 5}));
    EXPECT_EQ(found.environments[1].name, std::nullopt);
    ASSERT_EQ(found.attachments.size(), 2U);
    EXPECT_EQ(found.attachments[0].device, 0U);
    EXPECT_EQ(found.attachments[0].environmentName, "old work");
    EXPECT_EQ(found.attachments[0].shareBytes, std::nullopt);
    EXPECT_EQ(found.attachments[0].since, localTime(2024, 2, 1, 3, 4, 5));
    EXPECT_EQ(found.attachments[1].environmentName, std::nullopt);
    EXPECT_EQ(found.attachments[1].shareBytes, 4'000'000'000U);
}

TEST_F(NoBus, ItIsAskedForItsSnapshotOnlyWhereThereIsNoService) {
    farOutputIs(snapshotWith("", ""));
    state();
    ASSERT_EQ(calls().size(), 2U);
    EXPECT_NE(calls()[0].find("systemd-stdio-bridge"), std::string::npos);
    for (const char* word : {"genv", "usage", "snapshot", "--format", "json"})
        EXPECT_NE(calls()[1].find(word), std::string::npos) << calls()[1];
}

TEST_F(NoBus, AHostThatIsNotReachedIsNotAskedAgain) {
    farCommandIs("exit 1", "echo 'connect to host h1: Connection refused' >&2; exit 255");
    const HostFailure found = failure();
    EXPECT_EQ(found.trouble(), Trouble::Unreachable);
    EXPECT_STREQ(found.what(), "connect to host h1: Connection refused");
    EXPECT_EQ(calls().size(), 1U);
}

TEST_F(NoBus, WithoutAnyGenvThereIsNoService) {
    farCommandIs("echo 'sh: 1: genv: not found' >&2; exit 127");
    EXPECT_EQ(failure().trouble(), Trouble::NoService);
}

TEST_F(NoBus, AGenvThatNeedsTheServiceHasNone) {
    farCommandIs("echo 'genv: The service genvd is not available' >&2; exit 6");
    EXPECT_EQ(failure().trouble(), Trouble::NoService);
}

TEST_F(NoBus, AGenvThatFailsIsToldOfInItsLastWords) {
    farCommandIs(R"(printf 'Traceback\nPermissionError: \033[2J/var/tmp/genv\n' >&2; exit 1)");
    const HostFailure found = failure();
    EXPECT_EQ(found.trouble(), Trouble::Failed);
    const std::string what = found.what();
    EXPECT_NE(what.find("PermissionError: \\x1b[2J/var/tmp/genv"), std::string::npos) << what;
    EXPECT_EQ(what.find("Traceback"), std::string::npos) << what;
}

TEST_F(NoBus, AGenvThatSaysMoreThanAPipeHoldsDoesNotHang) {
    farCommandIs("head -c 1000000 /dev/zero | tr '\\0' x >&2; echo >&2; echo last >&2; exit 1");
    const HostFailure found = failure();
    EXPECT_EQ(found.trouble(), Trouble::Failed);
    EXPECT_TRUE(std::string(found.what()).ends_with("last")) << found.what();
}

TEST_F(NoBus, WhatIsNoSnapshotFails) {
    for (const char* text : {"", "hello\n", "[]", "{}", "null", "{\"envs\": 1}"}) {
        farOutputIs(text);
        EXPECT_EQ(failure().trouble(), Trouble::Failed) << text;
    }
}

TEST_F(NoBus, MoreThanAnyMachineHasFails) {
    std::string devices;
    for (int i = 0; i < 4097; ++i)
        devices += (i == 0 ? "" : ",") + std::string(R"({"index": )") + std::to_string(i) +
                   R"(, "total_memory": "1g", "attachments": []})";
    farOutputIs(snapshotWith("", devices));
    EXPECT_EQ(failure().trouble(), Trouble::Failed);
}

TEST_F(NoBus, LongNamesAreCutBetweenCharacters) {
    std::string name = "a";
    for (int i = 0; i < 1000; ++i)
        name += "\xc3\xa4";
    farOutputIs(snapshotWith(environment("77", '"' + name + '"'), ""));
    // 256 bytes would end in the middle of a character.
    EXPECT_EQ(state().environments.at(0).name, name.substr(0, 255) + "...");
}

TEST_F(NoBus, EveryTextThatIsShownIsCut) {
    const std::string text(300, 'k');
    const std::string kept = text.substr(0, 256) + "...";
    farOutputIs(snapshotWith(environment(text, "null", "[\"" + text + "\"]"), ""));
    const Environment far = state().machine.environments.at(0);
    EXPECT_EQ(far.id, kept);
    EXPECT_EQ(far.kernels, std::vector{kept});
}

} // namespace
} // namespace genv::remote
