// SPDX-License-Identifier: LGPL-2.1-or-later
// genv-nvml on its own: its exit status.
#include "service/posix/descriptor_wait.hpp"
#include "tests/service/gpu/nvml_fixture.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

using namespace genv;
using namespace genv::tests;

namespace {

class GenvNvml : public NvmlTest {
  protected:
    GenvNvml() {
        std::array<int, 2> ends{};
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) < 0)
            throw std::runtime_error("no socket");
        own_ = core::Descriptor(ends[0]);
        other_ = core::Descriptor(ends[1]);
    }

    service::ChildProcess start(const std::vector<std::string>& arguments = {}) const {
        return {GENV_NVML, arguments, other_.get()};
    }

    void closeOtherEnd() { other_ = core::Descriptor(); }

    void write(std::string_view text) const {
        ASSERT_EQ(::send(own_.get(), text.data(), text.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(text.size()));
    }

    void endInput() const { ::shutdown(own_.get(), SHUT_WR); }

    /// Reads up to a line feed or the end.
    std::string readLine() const {
        std::string line;
        for (char c = 0; c != '\n'; line += c) {
            if (!service::becomesReadable(own_.get(), std::chrono::steady_clock::now() + timeout)) {
                ADD_FAILURE() << "neither a line nor the end";
                break;
            }
            if (::recv(own_.get(), &c, 1, 0) != 1)
                break;
        }
        return line;
    }

  private:
    core::Descriptor own_;
    core::Descriptor other_;
};

TEST_F(GenvNvml, AnswersUntilItsInputEndsAndExitsWell) {
    become({{"devices",
             {gpu(0, {{"processes", processes({7})}}),
              gpu(1, {{"mig", {migInstance("MIG-a", 1, 0)}}})}}});
    service::ChildProcess helper = start();
    write("{\"sample\":41}\n{\"sample\":42}\n");
    endInput();
    for (const unsigned number : {41U, 42U}) {
        const std::string line = readLine();
        ASSERT_TRUE(line.ends_with('\n'));
        EXPECT_EQ(service::decodeAnswer(line).first, number);
    }
    EXPECT_EQ(helper.reap(timeout), "exited with status 0");
}

TEST_F(GenvNvml, SaysOnceOnStandardErrorWhyAGpuDoesNotWork) {
    json broken = gpu(1);
    broken["lost"] = true;
    become({{"devices", {gpu(0), broken}}, {"error_string", "gone\u001b[0m"}});
    testing::internal::CaptureStderr();
    service::ChildProcess helper = start({fmt::format("--gpu-folder={}", folder().string())});
    write("{\"sample\":1}\n{\"sample\":2}\n");
    endInput();
    EXPECT_EQ(helper.reap(timeout), "exited with status 0");
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "genv-nvml: GPU 1 does not work: gone\\x1b[0m (NVML error 15)\n");
}

TEST_F(GenvNvml, ARequestThatIsNoneEndsIt) {
    for (const std::string& request : {std::string("nonsense\n"), std::string("{}\n"),
                                       std::string("{\"sample\":-1}\n"), std::string(1000, ' ')}) {
        service::ChildProcess helper = start();
        write(request);
        EXPECT_EQ(helper.reap(timeout), "exited with status 1") << request;
    }
}

TEST_F(GenvNvml, ItsTimeLimitIsThatOfAnAnswerAndEndsWhatHangs) {
    become({{"devices", {gpu(0)}}});
    service::ChildProcess helper = start({"--time-limit=3"});
    write("{\"sample\":1}\n");
    EXPECT_NE(readLine(), "");
    EXPECT_EQ(helper.reap(std::chrono::seconds{4}), std::nullopt) << "it may wait for ever";
    become({{"faults", {{"*", "hang"}}}});
    write("{\"sample\":2}\n");
    EXPECT_EQ(helper.reap(timeout), "ended by signal 9 (Killed)");
}

TEST_F(GenvNvml, DoesNotStartForAParentThatIsGone) {
    service::ChildProcess helper = start({"--parent=1"});
    EXPECT_EQ(helper.reap(timeout), "exited with status 1");
}

TEST_F(GenvNvml, DiesWithItsParentThoughItHangsInTheDriver) {
    become({{"devices", {gpu(0)}}});
    const pid_t parent = ::fork();
    ASSERT_GE(parent, 0);
    if (parent == 0) {
        service::ChildProcess helper = start({fmt::format("--parent={}", ::getpid())});
        for (;;)
            helper.reap(timeout);
    }
    closeOtherEnd();
    write("{\"sample\":1}\n");
    EXPECT_NE(readLine(), "");
    become({{"faults", {{"*", "hang"}}}});
    write("{\"sample\":2}\n");
    ::kill(parent, SIGKILL);
    EXPECT_EQ(::waitpid(parent, nullptr, 0), parent);
    EXPECT_EQ(readLine(), ""); // its end is closed, although its input did not end
}

} // namespace
