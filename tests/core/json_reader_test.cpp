// SPDX-License-Identifier: LGPL-2.1-or-later
// The strict reader of foreign JSON: it converts nothing, keeps to the ranges, and its errors quote
// nothing from the document.
#include "core/base/json_reader.hpp"

#include <gtest/gtest.h>

namespace genv::core {
namespace {

using Read = std::function<void(const JsonValue&)>;
using Texts = std::vector<std::string>;

// Returns why a document is refused, or "" if it is accepted.
std::string refusal(const std::string& text, const Read& read, std::size_t maxDepth = anySize) {
    try {
        const nlohmann::json document = parseJson(text, maxDepth);
        read(JsonValue(document));
    } catch (const JsonError& error) {
        return error.what();
    }
    return "";
}

void acceptAll(const JsonValue& /*document*/) {}

// Reads {"x": value} for each value.
void expectOnly(const Read& read, const Texts& good, const Texts& bad, const std::string& expected,
                const std::string& what = "\"x\"") {
    const auto readMember = [&](const JsonValue& document) { read(document["x"]); };
    for (const std::string& value : good)
        EXPECT_EQ(refusal(R"({"x":)" + value + "}", readMember), "") << value;
    for (const std::string& value : bad)
        EXPECT_EQ(refusal(R"({"x":)" + value + "}", readMember),
                  "invalid " + what + ": expected " + expected)
            << value;
}

TEST(JsonReader, ParsesOnlyObjectsAndBoundsTheirDepthBefore) {
    EXPECT_EQ(refusal("{}", acceptAll), "");
    for (const char* text : {"", "{", "{} {}", "secret", "{\"a\":\"\xff\"}", "{\"a\":1e999}"})
        EXPECT_EQ(refusal(text, acceptAll), "not JSON") << text;
    for (const char* text : {"[]", "null", "7", "\"secret\""})
        EXPECT_EQ(refusal(text, acceptAll), "not a JSON object") << text;
    EXPECT_EQ(refusal(R"({"a":[[1]]})", acceptAll), "");
    EXPECT_EQ(refusal(R"({"a":[[1]]})", acceptAll, 3), "");
    EXPECT_EQ(refusal(R"({"a":[[1]]})", acceptAll, 2), "too deep");
    EXPECT_EQ(refusal(std::string(1'000'000, '['), acceptAll, 3), "too deep");
}

TEST(JsonReader, RequiresExactlyTheMembers) {
    const auto document = parseJson(R"({"a":1,"b":null})");
    EXPECT_NO_THROW(JsonValue(document).requireMembers({"b", "a"}));
    EXPECT_THROW(JsonValue(document).requireMembers({"a"}), JsonError);
    EXPECT_THROW(JsonValue(document).requireMembers({"a", "c"}), JsonError);
    EXPECT_THROW(JsonValue(document).requireMembers({"a", "b", "c"}), JsonError);
}

TEST(JsonReader, TellsAMissingMemberFromNull) {
    const auto document = parseJson(R"({"a":null,"yes":true,"list":[1]})");
    const JsonValue value(document);
    EXPECT_TRUE(value.has("a") && value["a"].isNull() && value.find("a"));
    EXPECT_FALSE(value.has("b") || value.find("b") || value["yes"].isNull());
    EXPECT_THROW(value["b"], JsonError);
    EXPECT_TRUE(value.booleanIfAny("yes") && value.booleanIfAny("b", true));
    EXPECT_FALSE(value.booleanIfAny("b"));
    EXPECT_THROW(static_cast<void>(value.booleanIfAny("a")), JsonError);
    EXPECT_EQ(value.listIfAny("list").size(), 1U);
    EXPECT_TRUE(value.listIfAny("b").empty());
    EXPECT_THROW(static_cast<void>(value.listIfAny("a")), JsonError);
}

TEST(JsonReader, LooksForMembersOnlyInObjects) {
    for (const Read& read :
         {Read([](const JsonValue& value) { return value.has("a"); }),
          Read([](const JsonValue& value) { return value.find("a"); }),
          Read([](const JsonValue& value) { return value["a"]; }),
          Read([](const JsonValue& value) { return value.booleanIfAny("a"); }),
          Read([](const JsonValue& value) { return value.listIfAny("a"); }),
          Read([](const JsonValue& value) { value.requireMembers({}); }), Read(&JsonValue::object)})
        expectOnly(read, {}, {"null", "[]", "1", "\"a\""}, "an object");
}

TEST(JsonReader, ConvertsNoNumbers) {
    expectOnly([](const JsonValue& value) { return value.number(9, 2); }, {"2", "9"},
               {"1", "10", "-2", "2.0", "\"2\"", "true", "null", "[2]", "18446744073709551618"},
               "a number from 2 to 9");
    expectOnly([](const JsonValue& value) { EXPECT_EQ(value.number(UINT64_MAX), UINT64_MAX); },
               {"18446744073709551615"}, {"-1", "18446744073709551616"},
               "a number from 0 to 18446744073709551615");
    expectOnly([](const JsonValue& value) { return value.number32(); }, {"0", "4294967295"},
               {"4294967296"}, "a number from 0 to 4294967295");
    // 18446744073709551615 is -1 in 64 bits.
    expectOnly([](const JsonValue& value) { return value.signedNumber(5); }, {"-5", "0", "5"},
               {"-6", "6", "18446744073709551615", "1.0", "\"1\"", "null"},
               "a number from -5 to 5");
    expectOnly(&JsonValue::amount, {"0", "1.5", "7"}, {"-0.5", "-1", "\"1\"", "true", "null"},
               "a number that is not negative");
}

TEST(JsonReader, ReadsOtherTypesOnlyAsWhatTheyAre) {
    expectOnly(&JsonValue::boolean, {"true", "false"}, {"0", "1", "null", "\"true\""},
               "true or false");
    expectOnly([](const JsonValue& value) { return value.text(); }, {"\"\"", "\"a\""},
               {"1", "null", "[\"a\"]"}, "text");
    expectOnly([](const JsonValue& value) { return value.text(2); }, {"\"ab\""},
               {"\"abc\"", "\"\\u20ac\""}, "text of at most 2 bytes");
    expectOnly([](const JsonValue& value) { return value.list(); }, {"[]", "[1,2]"},
               {"{}", "null", "\"a\""}, "a list");
    expectOnly([](const JsonValue& value) { return value.list(2); }, {"[]", "[1,2]"}, {"[1,2,3]"},
               "a list of at most 2 entries");
    expectOnly([](const JsonValue& value) { return value.listOf(2); }, {"[1,2]"}, {"[]", "[1]"},
               "a list of 2 entries");
    expectOnly([](const JsonValue& value) { return value.list().at(1).number32(7); }, {"[9,7]"},
               {"[9,8]"}, "a number from 0 to 7", "entry of \"x\"");
}

TEST(JsonReader, ThrowsTheErrorOfItsOwner) {
    const auto read = [](const JsonValue& value) { return value["a"].number32(); };
    EXPECT_EQ(readJson<std::out_of_range>(R"({"a":7})", 1, read), 7U);
    for (const char* text : {R"({"a":"7"})", "{}", "[", R"({"a":[7]})"})
        EXPECT_THROW(readJson<std::out_of_range>(text, 1, read), std::out_of_range) << text;
}

} // namespace
} // namespace genv::core
