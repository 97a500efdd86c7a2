// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/remote/ssh/host.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

namespace genv::remote {
namespace {

std::vector<std::string> labels(const std::vector<Host>& hosts) {
    std::vector<std::string> found;
    for (const Host& host : hosts)
        found.push_back(host.label());
    return found;
}

std::string refusal(const std::string& text) {
    try {
        readHost(text);
    } catch (const InvalidHost& error) {
        return error.what();
    }
    return "";
}

/// A file with this text during the lifetime of this object.
class HostFile {
  public:
    // Tests run in parallel, each in a process of its own.
    explicit HostFile(const std::string& text)
        : path(testing::TempDir() + "genv-hosts-" + std::to_string(::getpid())) {
        std::ofstream(path, std::ios::binary) << text;
    }
    HostFile(const HostFile&) = delete;
    HostFile& operator=(const HostFile&) = delete;
    ~HostFile() { std::remove(path.c_str()); }

    const std::string path;
};

TEST(ReadHost, KnowsAName) {
    EXPECT_EQ(readHost("gpu-1.example.org"),
              (Host{"gpu-1.example.org", std::nullopt, std::nullopt}));
}

TEST(ReadHost, KnowsAUserAndAPort) {
    EXPECT_EQ(readHost("alice@h1:2222"), (Host{"h1", "alice", 2222}));
    EXPECT_EQ(readHost("h1:65535"), (Host{"h1", std::nullopt, 65535}));
    EXPECT_EQ(readHost("alice@example.org@h1"),
              (Host{"h1", "alice@example.org", std::nullopt})); // a user of a directory service
}

TEST(ReadHost, KnowsAddresses) {
    EXPECT_EQ(readHost("192.0.2.1:22"), (Host{"192.0.2.1", std::nullopt, 22}));
    EXPECT_EQ(readHost("::1"), (Host{"::1", std::nullopt, std::nullopt}));
    EXPECT_EQ(readHost("[::1]"), (Host{"::1", std::nullopt, std::nullopt}));
    EXPECT_EQ(readHost("bob@[fe80::1%eth0]:2222"), (Host{"fe80::1%eth0", "bob", 2222}));
}

TEST(ReadHost, TakesNothingForAHostThatIsAnOptionOrCodeToSsh) {
    for (const char* text : {"",          "-oProxyCommand=id",
                             "-h1",       "alice@-oProxyCommand=id",
                             "-l@h1",     "@h1",
                             "alice@",    "h1;id",
                             "h1 id",     " h1",
                             "h1\n",      "$(id)",
                             "`id`",      "h1|id",
                             "h1&",       "h1'",
                             "h1\"",      "h1\\",
                             "a/b",       "h\x1b[2J",
                             "h\xc3\xa4", "h1=2",
                             "al ice@h1", "al;ice@h1",
                             "~",         "h*",
                             "{a,b}",     "h#1"})
        EXPECT_THROW(readHost(text), InvalidHost) << text;
    EXPECT_THROW(readHost(std::string("h1\0id", 5)), InvalidHost);
    EXPECT_THROW(readHost(std::string(256, 'h')), InvalidHost);
    EXPECT_NO_THROW(readHost(std::string(255, 'h')));
}

TEST(ReadHost, TakesOnlyPortsThatThereAre) {
    for (const char* text :
         {"h1:", "h1:0", "h1:65536", "h1:ssh", "h1:-1", "h1:22x", "h1: 22", "h1:+22",
          "[::1]:", "[::1]22", "[::1", "::1]", "[]", "[]:22", "h1:99999999999999999999"})
        EXPECT_THROW(readHost(text), InvalidHost) << text;
}

TEST(ReadHost, SaysWhichNameIsNoneWithoutItsEscapeSequences) {
    const std::string message = refusal("h1\x1b]0;title\x07");
    EXPECT_NE(message.find("h1\\x1b]0;title\\x07"), std::string::npos) << message;
    EXPECT_EQ(message.find('\x1b'), std::string::npos);
}

TEST(HostLabel, IsTheNameWithThePortThatWasGiven) {
    EXPECT_EQ(readHost("alice@h1").label(), "h1");
    EXPECT_EQ(readHost("alice@h1:2222").label(), "h1:2222");
    EXPECT_EQ(readHost("[::1]").label(), "::1");
    EXPECT_EQ(readHost("[::1]:2222").label(), "[::1]:2222");
}

TEST(ReadHosts, TakesEachOnce) {
    EXPECT_EQ(labels(readHosts("h2,h1, h3 ,h1,h2")), (std::vector<std::string>{"h2", "h1", "h3"}));
    // Another user or port is another way to reach a host, and may be another host.
    EXPECT_EQ(readHosts("h1,alice@h1,h1:22").size(), 3U);
}

TEST(ReadHosts, RefusesAllWhereOneIsNone) {
    for (const char* text : {"", ",", "h1,", ",h1", "h1,,h2", "h1,-oX=y", "h1 h2"})
        EXPECT_THROW(readHosts(text), InvalidHost) << text;
}

TEST(ReadHostFile, HasAHostOnEachLine) {
    const HostFile file("# the cluster\nh1\n\n  alice@h2:2222\t# the big one\nh3\r\nh1\n#h4\nlast");
    EXPECT_EQ(labels(readHostFile(file.path)),
              (std::vector<std::string>{"h1", "h2:2222", "h3", "last"}));
}

TEST(ReadHostFile, RefusesOneThatNamesNoHost) {
    for (const char* text : {"", "\n\n", "# h1\n"})
        EXPECT_THROW(readHostFile(HostFile(text).path), InvalidHost) << text;
}

TEST(ReadHostFile, RefusesOneWithALineThatIsNoHost) {
    EXPECT_THROW(readHostFile(HostFile("h1\n-oProxyCommand=id\n").path), InvalidHost);
    EXPECT_THROW(readHostFile(HostFile("h1,h2\n").path), InvalidHost);
}

TEST(ReadHostFile, IsBounded) {
    EXPECT_THROW(readHostFile(HostFile(std::string(1 << 20, '#') + "\nh1\n").path), InvalidHost);
    std::string hosts;
    for (int i = 0; i < 4096; ++i)
        ((hosts += 'h') += std::to_string(i)) += '\n';
    EXPECT_EQ(readHostFile(HostFile(hosts + "h0\n").path).size(), 4096U);
    EXPECT_THROW(readHostFile(HostFile(hosts + "one-more\n").path), InvalidHost);
}

TEST(ReadHostFile, SaysThatItCannotBeRead) {
    for (const std::string& path : {testing::TempDir() + "not-there", testing::TempDir()}) {
        try {
            readHostFile(path);
            FAIL() << path;
        } catch (const InvalidHost& error) {
            EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
        }
    }
}

} // namespace
} // namespace genv::remote
