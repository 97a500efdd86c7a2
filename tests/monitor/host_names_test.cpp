// SPDX-License-Identifier: LGPL-2.1-or-later
// The exporter answers to addresses and to names of its machine, and to no name of a web page.
#include "client/monitor/host_names.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <string>
#include <vector>

namespace genv::monitor {
namespace {

std::vector<std::string> ownNames() {
    return {"gpu1", "gpu1.example.org", "not a name"};
}

TEST(HostNames, AcceptAddressesInEveryForm) {
    HostNames names({}, ownNames);
    for (const char* host : {"127.0.0.1", "127.0.0.1:14368", "192.0.2.7:80", "[::1]", "[::1]:14368",
                             "[fe80::1%25eth0]:80", "127.0.0.1:"})
        EXPECT_TRUE(names.accept(host)) << host;
}

TEST(HostNames, AcceptTheMachineAndGivenNamesInEitherCase) {
    HostNames names({"Metrics.Example.", "alias"}, ownNames);
    for (const char* host : {"localhost", "LocalHost:1", "localhost.", "gpu1", "GPU1:14368",
                             "gpu1.example.org.", "metrics.example:9", "ALIAS"})
        EXPECT_TRUE(names.accept(host)) << host;
}

TEST(HostNames, AcceptNothingElse) {
    HostNames names({"alias"}, ownNames);
    for (const char* host : {"rebound.example",
                             "rebound.example:14368",
                             "",
                             ":80",
                             ".",
                             "localhost.rebound.example",
                             "127.0.0.1.rebound.example",
                             "gpu1.rebound.example",
                             "alias.rebound.example",
                             "localhost:80:80",
                             "localhost:x",
                             "localhost@rebound.example",
                             "rebound.example#localhost",
                             "[rebound.example]",
                             "[::1",
                             "[::1]x",
                             "[]",
                             "::1",
                             "127.1",
                             "2130706433",
                             "0x7f000001",
                             "127.0.0.1 ",
                             "not a name",
                             "localhost, rebound.example"})
        EXPECT_FALSE(names.accept(host)) << host;
    EXPECT_FALSE(names.accept(std::string_view("localhost\0.example", 18)));
}

TEST(HostNames, AskTheNameServiceOnlyForNamesThatNeedIt) {
    int calls = 0;
    HostNames names({"alias"}, [&] {
        ++calls;
        return ownNames();
    });
    EXPECT_TRUE(names.accept("127.0.0.1"));
    EXPECT_TRUE(names.accept("localhost"));
    EXPECT_TRUE(names.accept("alias"));
    EXPECT_EQ(calls, 0);
    EXPECT_TRUE(names.accept("gpu1"));
    for (int i = 0; i < 10; ++i)
        EXPECT_FALSE(names.accept("rebound.example"));
    EXPECT_EQ(calls, 1) << "a flood asks once a minute";
}

TEST(HostNames, AreThoseOfThisMachine) {
    std::array<char, 256> name{};
    ASSERT_EQ(gethostname(name.data(), name.size() - 1), 0);
    EXPECT_TRUE(HostNames({}).accept(name.data()));
}

} // namespace
} // namespace genv::monitor
