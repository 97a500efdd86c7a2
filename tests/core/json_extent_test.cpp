// SPDX-License-Identifier: LGPL-2.1-or-later
// The bounds on foreign JSON before it is parsed.
#include "core/base/json_extent.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace genv::core {
namespace {

TEST(JsonExtent, IsAsDeepAsTheTextNests) {
    EXPECT_EQ(extentOf("").depth, 0U);
    EXPECT_EQ(extentOf("7").depth, 0U);
    EXPECT_EQ(extentOf("[]").depth, 1U);
    EXPECT_EQ(extentOf(R"({"a":[1,{"b":2}],"c":[]})").depth, 3U);
    EXPECT_EQ(extentOf(R"([[],[],[[]],[]])").depth, 3U);
    EXPECT_EQ(extentOf(std::string(100'000, '[')).depth, 100'000U);
    EXPECT_EQ(extentOf("]]]}[").depth, 1U) << "what is no JSON hides nothing";
}

TEST(JsonExtent, PassesOverStrings) {
    EXPECT_EQ(extentOf(R"(["[[[,,,{{{"])").depth, 1U);
    EXPECT_EQ(extentOf(R"(["[[[,,,{{{"])").values, 2U);
    EXPECT_EQ(extentOf(R"(["a\"[[", "\\", [["b"]]])").depth, 3U);
    EXPECT_EQ(extentOf(R"(["\\",[]])").depth, 2U) << "an escaped backslash, and the string ends";
    EXPECT_EQ(extentOf(R"("\)").depth, 0U);
}

TEST(JsonExtent, CountsNoFewerValuesThanThereAre) {
    EXPECT_EQ(extentOf("7").values, 1U);
    EXPECT_EQ(extentOf("[1,2,3]").values, 4U);
    EXPECT_EQ(extentOf(R"({"a":[1,{"b":2}],"c":3})").values, 6U);
    for (const char* text : {"[]", "{}", "[[],[],{}]", R"({"a":{"b":{}},"c":null})"}) {
        const auto flat = nlohmann::json::parse(text).flatten();
        EXPECT_GE(extentOf(text).values, flat.size()) << text;
    }
}

} // namespace
} // namespace genv::core
