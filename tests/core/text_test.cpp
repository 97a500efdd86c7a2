// SPDX-License-Identifier: LGPL-2.1-or-later
// Amounts, time spans, ids, names and quoting.
#include "core/base/bytes.hpp"
#include "core/base/duration.hpp"
#include "core/base/text.hpp"
#include "tests/core/fakes.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace genv::tests {
namespace {

using namespace std::chrono_literals;
using core::ErrorCode;

TEST(Bytes, AreReadWithEveryUnitInEitherCase) {
    const std::vector<std::pair<const char*, std::uint64_t>> table{
        {"44040192", 44040192}, {"1b", 1},
        {"2k", 2000},           {"2ki", 2048},
        {"3m", 3000000},        {"42mi", 44040192},
        {"4g", 4000000000},     {"4gi", 4294967296},
        {"4G", 4000000000},     {"4Gi", 4294967296},
        {"512MI", 536870912},   {"9223372036854775807", 9223372036854775807ULL},
        {"8gb", 8000000000},    {"40GB", 40000000000},
        {"8GiB", 8589934592},   {"8gib", 8589934592},
        {"2kB", 2000},          {"2KiB", 2048},
        {"3MB", 3000000},       {"3mib", 3145728},
        {"1t", 1000000000000},  {"1TB", 1000000000000},
        {"1ti", 1099511627776}, {"1TiB", 1099511627776},
        {"1048576", 1048576},   {"8b", 8},
    };
    for (const auto& [text, count] : table)
        EXPECT_EQ(core::parseBytes(text).count, count) << text;
}

TEST(Bytes, RefuseWhatIsNoAmount) {
    for (const char* text : {"",
                             "g",
                             "4x",
                             "4 g",
                             " 4g",
                             "4g ",
                             "-1",
                             "+1",
                             "1.5g",
                             "0",
                             "0g",
                             "4gibb",
                             "4bg",
                             "4ib",
                             "4gg",
                             "0x10",
                             "9223372036854775808",
                             "99999999999999999999999g",
                             "10000000000gi",
                             "4\xff"})
        EXPECT_EQ(codeOf([&] { core::parseBytes(text); }), ErrorCode::InvalidArgs) << text;
}

TEST(Bytes, WithoutAUnitAreRefusedWhereOneWasForgotten) {
    const std::vector<std::pair<const char*, const char*>> table{
        {"1", "1g"}, {"8", "8g"}, {"80", "80g"}, {"8000", "8000m"}, {"1048575", "1048575m"}};
    for (const auto& [text, likely] : table) {
        try {
            core::parseBytes(text);
            ADD_FAILURE() << text;
        } catch (const core::Error& error) {
            EXPECT_THAT(error.what(), testing::HasSubstr(fmt::format("Did you mean {}?", likely)));
        }
    }
}

TEST(Bytes, AreWrittenExactlyInTheLargestUnitThatFits) {
    EXPECT_EQ(core::formatBytes({4000000000}), "4g");
    EXPECT_EQ(core::formatBytes({4294967296}), "4gi");
    EXPECT_EQ(core::formatBytes({44040192}), "42mi");
    EXPECT_EQ(core::formatBytes({1234567}), "1234567b");
    EXPECT_EQ(core::formatBytes({0}), "0");
    EXPECT_EQ(core::formatMebibytes({16000000000}), "15258mi");
}

TEST(Bytes, AreReadAgainAsTheyWereWritten) {
    for (std::uint64_t count = 1; count < (1ULL << 50); count = count * 3 + 1) {
        for (const std::uint64_t amount : {count, count << 10, count * 1000})
            EXPECT_EQ(core::parseBytes(core::formatBytes({amount})).count, amount);
    }
}

TEST(Duration, IsReadAsSystemdWritesIt) {
    EXPECT_EQ(core::parseDuration("90"), 90s);
    EXPECT_EQ(core::parseDuration("10s"), 10s);
    EXPECT_EQ(core::parseDuration("250ms"), 250ms);
    EXPECT_EQ(core::parseDuration("2h"), 2h);
    EXPECT_EQ(core::parseDuration("1h 30min"), 90min);
    EXPECT_EQ(core::parseDuration("1h30m"), 90min);
    EXPECT_EQ(core::parseDuration("2 days"), 48h);
    EXPECT_EQ(core::parseDuration("1w"), 168h);
    EXPECT_EQ(core::parseDuration("0"), 0s);
}

TEST(Duration, RefusesWhatIsNone) {
    for (const char* text : {"", " ", "s", "10x", "-1s", "1.5h", "1h x", "99999999999999999999",
                             "101 years", "5000w 1000w"})
        EXPECT_EQ(codeOf([&] { core::parseDuration(text); }), ErrorCode::InvalidArgs) << text;
}

TEST(Duration, NeedsAUnitWherePeopleTypeIt) {
    EXPECT_EQ(core::parseTypedDuration("8h"), 8h);
    EXPECT_EQ(core::parseTypedDuration("1h 30min "), 90min);
    EXPECT_EQ(core::parseTypedDuration("0"), 0s);
    for (const char* text : {"8", " 8", "8 ", "1h 30", "1h30", "008", "10x", ""})
        EXPECT_EQ(codeOf([&] { core::parseTypedDuration(text); }), ErrorCode::InvalidArgs) << text;
}

TEST(Duration, IsWrittenInItsTwoLargestUnits) {
    const std::vector<std::pair<std::chrono::milliseconds, const char*>> table{
        {0s, "0s"},
        {999ms, "0s"},
        {-5s, "0s"},
        {1s, "1s"},
        {59999ms, "59s"},
        {60s, "1min"},
        {90s, "1min 30s"},
        {1h, "1h"},
        {1h + 5s, "1h"},
        {90min + 5s, "1h 30min"},
        {25h + 59min, "1d 1h"},
        {24h * 400, "400d"},
    };
    for (const auto& [span, text] : table)
        EXPECT_EQ(core::formatDuration(span), text);
}

TEST(Identifier, IsAShortWordOfSafeCharacters) {
    for (const char* id : {"1", "1234-2", "a.b_c:d@e-f", "..", "A"})
        EXPECT_TRUE(core::isIdentifier(id)) << id;
    EXPECT_TRUE(core::isIdentifier(std::string(64, 'x')));
    EXPECT_FALSE(core::isIdentifier(std::string(65, 'x')));
    for (const char* id : {"", "a b", "../x", "a/b", "a\nb", "\xc3\xa4", "$(x)", "a;b", "a%b"})
        EXPECT_FALSE(core::isIdentifier(id)) << id;
}

TEST(Name, IsPrintableUtf8) {
    for (const char* name : {"x", "Norwegian Wood", "\xc3\xa4\xc3\xb6\xc3\xbc", "\xf0\x9f\x8e\xb8",
                             "../x", "$(rm -rf ~)", "a;b"})
        EXPECT_NO_THROW(core::requireName(name)) << name;
    for (const char* name : {"", "a\nb", "a\x1b[31m", "a\x7f", "\xc2\x85", "\xe2\x80\x8b",
                             "\xe2\x80\xae", "\xe2\x80\xa8", "\xef\xbb\xbf", "\xff", "\xc0\x80",
                             "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x80", "\xf3\xa0\x81\x81"})
        EXPECT_EQ(codeOf([&] { core::requireName(name); }), ErrorCode::InvalidArgs) << name;
    EXPECT_NO_THROW(core::requireName(std::string(64, 'x')));
    EXPECT_EQ(codeOf([] { core::requireName(std::string(65, 'x')); }), ErrorCode::InvalidArgs);
}

TEST(Printable, LeavesEverythingElseAsItIs) {
    EXPECT_EQ(core::printable("a \"b\" \\ \u00e9"), "a \"b\" \\ \u00e9");
    EXPECT_EQ(core::printable("\x1b[31m\n\xff\u202e"), "\\x1b[31m\\x0a\\xff\\xe2\\x80\\xae");
    EXPECT_EQ(core::printable(std::string(1000, 'a')), std::string(1000, 'a'));
}

TEST(Escaped, LeavesNothingThatATerminalWouldObey) {
    EXPECT_EQ(core::escaped("plain \xc3\xa4"), "plain \xc3\xa4");
    EXPECT_EQ(core::escaped("a\x1b[31mb\n"), "a\\x1b[31mb\\x0a");
    EXPECT_EQ(core::escaped("\"\\"), "\\\"\\\\");
    EXPECT_EQ(core::escaped("\xff\xe2\x80\xae"), "\\xff\\xe2\\x80\\xae");
    EXPECT_EQ(core::escaped("abcdef", 3), "abc...");
    EXPECT_EQ(core::escaped(std::string("a\0b", 3)), "a\\x00b");
}

TEST(Name, IsRefusedWhereABytesSequenceIsBroken) {
    for (const char* name : {"\xc3(", "\xe2(\xa1", "\xe2\x82(", "\xf0(\x8c\xbc",
                             "\xf0\x90\x80\x80\xff", "\xe0\x80\xaf", "\xf0\x80\x80\xaf"})
        EXPECT_EQ(codeOf([&] { core::requireName(name); }), ErrorCode::InvalidArgs)
            << core::escaped(name);
}

} // namespace
} // namespace genv::tests
