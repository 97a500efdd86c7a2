// SPDX-License-Identifier: LGPL-2.1-or-later
// What genv-watch reads in a status file, and what it writes.
#include "client/watch/status.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <string>

namespace genv::watch {
namespace {

std::string written(std::string_view id, const Sentence& sentence) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) < 0)
        return "no pipe";
    write(ends[1], id, sentence);
    ::close(ends[1]);
    std::string text(4096, '\0');
    text.resize(static_cast<std::size_t>(::read(ends[0], text.data(), text.size())));
    ::close(ends[0]);
    return text;
}

TEST(WatchStatus, HasTheNumbersAndTheSentencesOfAFile) {
    Status status("1700 1600\n0,1\n1650 GPU 1 was lost\n1700 the lease ends at noon\n");
    EXPECT_EQ(status.sequence(), 1700U);
    EXPECT_EQ(status.start(), 1600U);
    const auto first = status.next();
    ASSERT_TRUE(first);
    EXPECT_EQ(first->sequence, 1650U);
    EXPECT_EQ(first->text, "GPU 1 was lost");
    EXPECT_EQ(status.next().value().text, "the lease ends at noon");
    EXPECT_FALSE(status.next());
}

TEST(WatchStatus, OfAnyOtherTextHasWhatCanBeRead) {
    for (const char* text : {"", "\n", "\n\n\n", "x", "1", "1 ", "1 2", "99999999999999999999 2\n",
                             "1 2\n0\nno number\n", "-1 -2\n\n-3 no\n"}) {
        Status status(text);
        EXPECT_FALSE(status.next()) << text;
    }
    Status status("1 2\n0\nno number\n3 a sentence");
    EXPECT_EQ(status.next().value().text, "a sentence") << "also without a line's end";
}

TEST(WatchStatus, IsWrittenAsGenvctlWritesWithAdviceOnRules) {
    EXPECT_EQ(written("352", {1, "GPU 1 was taken away by an administrator (root)"}),
              "genvctl: Environment 352: GPU 1 was taken away by an administrator (root)\n");
    EXPECT_EQ(written("352", {1, "process 12 (sleep) on GPU 0 was ended by the rule env-memory"}),
              "genvctl: Environment 352: process 12 (sleep) on GPU 0 was ended by the rule "
              "env-memory\nUse less GPU memory, or take a larger share with --gpu-memory.\n");
}

TEST(WatchStatus, KnowsTheSentencesThatAreNoNewsAndTheLastOne) {
    EXPECT_TRUE(isAboutTheWait("GPU 0 was granted after 5min in the queue"));
    EXPECT_FALSE(isAboutTheWait("GPU 0 was lost"));
    EXPECT_TRUE(isAboutARefusal("process 12 (python) was refused GPU 0, which you do not hold"));
    EXPECT_TRUE(isAboutARefusal("process 12 (python) was refused GPU 1, which you do not hold; "
                                "\"genv attach --index 1\" attaches it"));
    EXPECT_FALSE(isAboutARefusal("GPU 0 was lost"));
    EXPECT_TRUE(isAboutKeptDevices("it keeps GPU 0, which process 12 still uses"));
    EXPECT_FALSE(isAboutKeptDevices("GPU 0 was lost"));
}

} // namespace
} // namespace genv::watch
