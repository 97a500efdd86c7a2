// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/shell/genv1.hpp"

#include <gtest/gtest.h>

namespace genv::ctl {
namespace {

using Words = std::vector<std::string>;

TEST(Genv1, HostsMayBeSpelledWithOneDash) {
    EXPECT_EQ(asSpelledToday({"remote", "-hostfile", "f", "devices"}),
              (Words{"remote", "--hostfile", "f", "devices"}));
    EXPECT_EQ(asSpelledToday({"remote", "-q", "-l", "-host", "-host=h1", "-e", "envs"}),
              (Words{"remote", "-q", "-l", "-host", "--host=h1", "-e", "envs"}))
        << "the value of an option is no option";
    EXPECT_EQ(asSpelledToday({"--json", "remote", "-host"}), (Words{"--json", "remote", "--host"}));
}

TEST(Genv1, WhatIsNoOptionOfRemoteStaysAsItIs) {
    for (const Words& words :
         {Words{"remote", "-H", "h1", "run", "--", "ssh", "-host", "x"}, Words{"run", "x", "-host"},
          Words{"remote", "devices", "-hostfile"}, Words{"remote", "--", "-host"}, Words{"-host"},
          Words{"remote", "-l"}, Words{}})
        EXPECT_EQ(asSpelledToday(words), words) << testing::PrintToString(words);
}

TEST(Genv1, OnlyTheCallsOfItsShellFunctionAreAnswered) {
    for (const Words& words :
         {Words{"activate", "--shell", "bash"}, Words{"activate", "--shell"}, Words{"activate"},
          Words{"attach", "--shell", "119"}, Words{"activate", "--gpus", "1", "--shell", "119"},
          Words{"--shell", "119", "activate"}, Words{}})
        EXPECT_EQ(answerShellOfGenv1(words), std::nullopt) << testing::PrintToString(words);
}

} // namespace
} // namespace genv::ctl
