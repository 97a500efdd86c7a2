// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/monitor/exporter_options.hpp"
#include "core/base/command_line/usage_error.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace genv::monitor {
namespace {

ExporterOptions parsed(std::vector<std::string> words) {
    words.insert(words.begin(), "genv-monitor");
    std::vector<char*> arguments;
    for (std::string& word : words)
        arguments.push_back(word.data());
    arguments.push_back(nullptr);
    return parseOptions(static_cast<int>(words.size()), arguments.data());
}

std::string refusal(const std::vector<std::string>& words) {
    try {
        parsed(words);
    } catch (const core::UsageError& error) {
        return error.what();
    }
    return "accepted";
}

TEST(MonitorOptions, AreReadInEveryForm) {
    const ExporterOptions options =
        parsed({"-p5", "-i", "7", "--timeout=9", "--host", "a", "--host=b@c:22",
                "--no-process-metrics", "--quiet", "--exit-on-error", "--config-dir=/x/../y"});
    EXPECT_EQ(options.port, 5);
    EXPECT_EQ(options.interval, std::chrono::seconds{7});
    EXPECT_EQ(options.timeout, std::chrono::milliseconds{9});
    EXPECT_EQ(options.hosts.size(), 2U);
    EXPECT_FALSE(options.selection.processes);
    EXPECT_TRUE(options.selection.users);
    EXPECT_TRUE(options.isQuiet);
    EXPECT_TRUE(options.endsWithOne);
    EXPECT_EQ(options.configFolder, "/y");
    EXPECT_FALSE(options.isAboutItself);
}

TEST(MonitorOptions, CountByTheLastOne) {
    EXPECT_EQ(parsed({"--port", "5", "-p", "0"}).port, 0);
    EXPECT_EQ(parsed({"--listen=0.0.0.0", "--listen=[::1]"}).address, "::1");
}

TEST(MonitorOptions, TakeEveryHostName) {
    EXPECT_EQ(parsed({"--host-name", "a", "--host-name=b.example"}).hostNames,
              (std::vector<std::string>{"a", "b.example"}));
    for (const char* name : {"", "*", "a b", "a:80", "http://a", "[::1]", "a..b", "-a", "\u00fc"})
        EXPECT_NE(refusal({"--host-name", name}), "accepted") << name;
}

TEST(MonitorOptions, AreRefusedWithWhatWouldBeRight) {
    EXPECT_EQ(refusal({"--port", "x"}), "invalid value \"x\" for --port: expected 0-65535");
    EXPECT_EQ(refusal({"-p", "65536"}), "invalid value \"65536\" for --port: expected 0-65535");
    EXPECT_EQ(refusal({"-i", "0"}), "invalid value \"0\" for --interval: expected 1-3600");
    EXPECT_EQ(refusal({"--listen", "here"}),
              "invalid value \"here\" for --listen: expected an IPv4 or IPv6 address, such as "
              "127.0.0.1 or ::1");
    EXPECT_EQ(refusal({"--host", "a", "--host", "a"}), "--host: \"a\" is named twice");
    EXPECT_EQ(refusal({"--host", "a:x"}), "--host: \"a:x\": invalid port: expected 1-65535");
    EXPECT_EQ(refusal({"--no-such"}), "unknown option \"--no-such\" for \"genv-monitor\"");
    EXPECT_EQ(refusal({"word"}), "unexpected argument \"word\" for \"genv-monitor\"");
    EXPECT_EQ(refusal({"--port"}), "missing value for --port");
    EXPECT_NE(refusal({"--quiet=3"}), "accepted");
}

} // namespace
} // namespace genv::monitor
