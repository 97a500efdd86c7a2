// SPDX-License-Identifier: LGPL-2.1-or-later
// genv-slurm on its own: one request, one answer, and its end.
#include "core/base/descriptor.hpp"
#include "service/posix/child_process.hpp"
#include "service/posix/descriptor_wait.hpp"
#include "service/slurm/slurm_protocol.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>

namespace genv::service {
namespace {

// Longer than any request on a busy machine.
constexpr std::chrono::seconds longEnough{30};

struct HelperRun {
    std::string answer;
    std::string end;
};

// Sends a text completely and then closes the input, unless it is to stay open.
HelperRun run(const std::string& text, bool staysOpen = false) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    const core::Descriptor own(ends[0]);
    core::Descriptor other(ends[1]);
    ChildProcess program(GENV_SLURM, {}, other.get());
    other.close();
    EXPECT_EQ(::send(own.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
    if (!staysOpen)
        ::shutdown(own.get(), SHUT_WR);
    HelperRun result;
    std::array<char, 4096> chunk{};
    const auto deadline = std::chrono::steady_clock::now() + longEnough;
    while (becomesReadable(own.get(), deadline)) {
        const ssize_t got = ::recv(own.get(), chunk.data(), chunk.size(), 0);
        if (got <= 0)
            break;
        result.answer.append(chunk.data(), static_cast<std::size_t>(got));
    }
    result.end = program.reap(longEnough).value_or("has not ended");
    return result;
}

TEST(GenvSlurm, AnswersNothingToWhatIsNoRequest) {
    for (const std::string& text :
         {std::string("\n"), std::string("reboot\n"), std::string("{\"request\":\"cancel\"}\n"),
          std::string("{\"request\":\"cancel\",\"job\":1,\"bin\":\"/tmp\"}\n"),
          std::string(maxSlurmRequest + 1, 'x'), std::string("{\"request\"")}) {
        const HelperRun got = run(text);
        EXPECT_EQ(got.answer, "") << text;
        EXPECT_EQ(got.end, "exited with status 1") << text;
    }
}

TEST(GenvSlurm, DoesNotWaitForARequestForEver) {
    EXPECT_EQ(run("{\"request\"", true).end, "exited with status 1");
}

TEST(GenvSlurm, AnswersWithALineAndEnds) {
    // On machines with and without Slurm the answer is that there is no such job.
    const HelperRun got = run("{\"request\":\"requeue\",\"job\":4294967294}\n", true);
    EXPECT_EQ(got.end, "exited with status 0");
    ASSERT_TRUE(got.answer.ends_with('\n'));
    const SlurmAnswer answer =
        decodeSlurmAnswer(std::string_view(got.answer).substr(0, got.answer.size() - 1));
    EXPECT_TRUE(std::get<core::SlurmFailure>(answer).reason.find("scontrol") != std::string::npos);
}

} // namespace
} // namespace genv::service
