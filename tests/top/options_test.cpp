// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/top/top_options.hpp"
#include "core/base/command_line/usage_error.hpp"

#include <gtest/gtest.h>

namespace genv::top::tests {
namespace {

TopOptions parsed(std::vector<std::string> words) {
    words.insert(words.begin(), "genv-top");
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

TEST(TopOptions, AreRead) {
    const TopOptions options = parsed({"--once", "--readonly", "--gpu", "0-2,7", "--json=pretty",
                                       "--host=ada@n1:22", "--no-ask-password"});
    EXPECT_TRUE(options.isOnce);
    EXPECT_TRUE(options.isReadOnly);
    EXPECT_FALSE(options.mayAskPassword);
    EXPECT_EQ(options.json, TopOptions::Json::Pretty);
    EXPECT_EQ(options.gpus, (std::vector<std::uint32_t>{0, 1, 2, 7}));
    EXPECT_EQ(options.host->label(), "n1:22");
    EXPECT_EQ(parsed({"--json"}).json, TopOptions::Json::Short);
    EXPECT_EQ(parsed({}).json, TopOptions::Json::Off);
}

TEST(TopOptions, WrongOnesAreRefused) {
    for (const char* gpus : {"x", "1-", "-1", "1,,2", "1-99999", "1-2-3"})
        EXPECT_EQ(refusal({std::string("--gpu=") + gpus}),
                  "invalid value \"" + std::string(gpus) +
                      "\" for --gpu: expected indices and ranges, such as 0-3,7");
    EXPECT_EQ(refusal({"--frob"}), "unknown option \"--frob\" for \"genvctl top\"");
    EXPECT_EQ(refusal({"word"}), "unexpected argument \"word\" for \"genvctl top\"");
    EXPECT_EQ(refusal({"--json=yaml"}),
              "invalid value \"yaml\" for --json: expected short, pretty or off");
    EXPECT_EQ(refusal({"--host=-x"}).substr(0, 3), "-H:");
    EXPECT_NE(refusal({"--host=a", "--cluster=slurm"}).find("--cluster"), std::string::npos);
}

} // namespace
} // namespace genv::top::tests
