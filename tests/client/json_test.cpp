// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/terminal/json.hpp"

#include <gtest/gtest.h>

namespace genv::ctl {
namespace {

TEST(Json, IsOneLineOrIndentedLines) {
    const Json json{{"name", "grün"}, {"gpus", nullptr}};
    EXPECT_EQ(jsonText(json, false), "{\"name\":\"grün\",\"gpus\":null}\n");
    EXPECT_EQ(jsonText(json, true), "{\n    \"name\": \"grün\",\n    \"gpus\": null\n}\n");
}

TEST(Json, EscapesWhatATerminalWouldObey) {
    for (const char* hostile : {"\x1b[2J", "\x7f",
                                "\xc2\x9b"
                                "2J",
                                "\xe2\x80\xae"}) {
        const std::string text = jsonText({{"name", hostile}}, true);
        for (const char c : text)
            EXPECT_TRUE(c == '\n' || (c >= ' ' && c < '\x7f')) << text;
        EXPECT_EQ(Json::parse(text)["name"], hostile);
    }
}

TEST(Json, StaysJsonWithTextThatIsNoUtf8) {
    EXPECT_TRUE(Json::accept(jsonText({{"name", "a\xff"
                                                "b"}},
                                      false)));
}

TEST(Json, HasNullForWhatIsUnsetOrEmpty) {
    EXPECT_EQ(orNull(std::string()), nullptr);
    EXPECT_EQ(orNull(std::optional(std::string())), nullptr);
    EXPECT_EQ(orNull(std::optional<Time>()), nullptr);
    EXPECT_EQ(orNull(std::uint64_t{0}), nullptr);
    EXPECT_EQ(orNull(std::optional(std::uint64_t{0})), 0);
    EXPECT_EQ(orNull(std::optional(Time(std::chrono::seconds{1}))), 1'000'000);
    EXPECT_EQ(orNull(std::optional(std::chrono::microseconds{500'000})), 0.5);
}

TEST(Json, TellsAConfigurationWithNullForWhatIsUnset) {
    EXPECT_EQ(toJson(Configuration{"a", 2, 4'000'000'000}).dump(),
              R"({"name":"a","gpus":2,"gpu_memory_bytes":4000000000})");
    EXPECT_EQ(toJson(Configuration{}).dump(),
              R"({"name":null,"gpus":null,"gpu_memory_bytes":null})");
}

} // namespace
} // namespace genv::ctl
