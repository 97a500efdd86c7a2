// SPDX-License-Identifier: LGPL-2.1-or-later
// A helper process that hangs, crashes, writes invalid data or cannot be killed costs one sample,
// and leaves nothing behind.
#include "tests/service/gpu/nvml_fixture.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>

using namespace genv;
using namespace genv::tests;

namespace {

using Strings = std::vector<std::string>;
namespace fs = std::filesystem;

std::size_t openDescriptors() {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()));
}

class Helper : public NvmlTest {
  protected:
    /// Returns settings with a shell script in place of genv-nvml.
    [[nodiscard]] service::NvmlSettings script(const std::string& text) const {
        const fs::path path = folder() / "helper";
        std::ofstream(path) << "#!/bin/sh\n" << text << "\n";
        fs::permissions(path, fs::perms::owner_all);
        return {path, {}, timeout, timeout};
    }

    /// Returns the error of a sample from a helper that answers any request with this command's
    /// output.
    std::string errorAfter(const std::string& shellCommand) const {
        service::NvmlGpus gpus(script("read request\n" + shellCommand));
        return errorOf(gpus);
    }
};

TEST_F(Helper, OneProcessServesManySamples) {
    become({{"devices", {gpu(0)}}});
    service::NvmlGpus gpus(settings());
    gpus.sample();
    const auto before = children();
    EXPECT_EQ(before.size(), 1U);
    for (int i = 0; i < 20; ++i)
        gpus.sample();
    EXPECT_EQ(children(), before);
}

TEST_F(Helper, OneThatHangsIsKilledAtTheDeadlineAndReplaced) {
    become({{"devices", {gpu(0)}}});
    service::NvmlGpus gpus(hastySettings());
    gpus.sample();
    const auto before = children();
    become({{"devices", {gpu(0)}}, {"faults", {{"nvmlDeviceGetName", "hang"}}}});
    EXPECT_EQ(errorOf(gpus), "genv-nvml did not answer in time");
    EXPECT_EQ(children(), std::vector<pid_t>{});
    become({{"devices", {gpu(0)}}});
    EXPECT_EQ(uuidsOf(gpus.sample()), Strings{gpuUuid(0)});
    EXPECT_NE(children(), before);
}

TEST_F(Helper, OneThatDripsIsKilledAtTheDeadlineToo) {
    service::NvmlSettings dripping = script("while :; do printf x; done");
    dripping.firstAnswerTime = std::chrono::milliseconds{100};
    service::NvmlGpus gpus(dripping);
    const std::string error = errorOf(gpus);
    EXPECT_TRUE(error == "genv-nvml did not answer in time" ||
                error == "genv-nvml sent too long an answer")
        << error;
}

TEST_F(Helper, OneThatCrashesIsReplacedAtTheNextSample) {
    become({{"devices", {gpu(0)}}});
    service::NvmlGpus gpus(settings());
    gpus.sample();
    become({{"devices", {gpu(0)}}, {"faults", {{"nvmlDeviceGetName", "crash"}}}});
    EXPECT_EQ(errorOf(gpus), "genv-nvml ended by signal 6 (Aborted)");
    EXPECT_EQ(children(), std::vector<pid_t>{});
    EXPECT_EQ(errorOf(gpus), "genv-nvml ended by signal 6 (Aborted)");
    become({{"devices", {gpu(0)}}});
    EXPECT_EQ(uuidsOf(gpus.sample()), Strings{gpuUuid(0)});
}

TEST_F(Helper, OneThatEndsBetweenSamplesIsReplacedUnnoticed) {
    become({{"devices", {gpu(0)}}});
    service::NvmlGpus gpus(settings());
    gpus.sample();
    const pid_t helper = children().at(0);
    ::kill(helper, SIGKILL);
    siginfo_t info{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(helper), &info, WEXITED | WNOWAIT),
              0); // it is dead, and not reaped
    EXPECT_EQ(uuidsOf(gpus.sample()), Strings{gpuUuid(0)});
    EXPECT_EQ(children().size(), 1U);
}

TEST_F(Helper, OneThatCannotBeStartedIsAnError) {
    service::NvmlGpus gpus(service::NvmlSettings{"/nowhere/genv-nvml", {}});
    EXPECT_EQ(errorOf(gpus),
              "genv-nvml cannot be started from /nowhere/genv-nvml: No such file or directory");
}

TEST_F(Helper, OneThatExitsAtOnceIsStartedOncePerSample) {
    service::NvmlGpus gpus(
        script(fmt::format("echo started >> {}; exit 3", (folder() / "starts").string())));
    EXPECT_EQ(errorOf(gpus), "genv-nvml exited with status 3");
    EXPECT_EQ(errorOf(gpus), "genv-nvml exited with status 3");
    std::ifstream starts(folder() / "starts");
    EXPECT_EQ(std::distance(std::istream_iterator<std::string>(starts), {}), 2);
}

TEST_F(Helper, AnswersThatAreNoneAreErrors) {
    EXPECT_EQ(errorAfter("echo nonsense"), "genv-nvml sent an invalid answer: not JSON");
    EXPECT_EQ(errorAfter("echo '{\"sample\":2,\"no_driver\":\"x\"}'"),
              "genv-nvml sent an invalid answer: it belongs to another sample");
    EXPECT_EQ(errorAfter("printf '{\"sample\":1,'"), "genv-nvml exited with status 0");
    EXPECT_EQ(errorAfter("printf '{}\\n{}\\n'"), "genv-nvml sent more than one answer");
    EXPECT_EQ(errorAfter("exec <&- >&-; exec sleep 1000"), "genv-nvml closed its connection");
}

TEST_F(Helper, AnAnswerWithoutEndIsCutOff) {
    EXPECT_EQ(errorAfter("exec yes | tr -d '\\n'"), "genv-nvml sent too long an answer");
}

TEST_F(Helper, NoDescriptorAndNoProcessIsLeftOfAnyFailure) {
    const std::size_t before = openDescriptors();
    {
        service::NvmlGpus gpus(hastySettings());
        become({{"devices", {gpu(0)}}});
        gpus.sample();
        become({{"faults", {{"*", "hang"}}}});
        errorOf(gpus);
        become({{"faults", {{"*", "crash"}}}});
        errorOf(gpus);
        become({{"devices", {gpu(0)}}});
        gpus.sample();
        service::NvmlGpus other(service::NvmlSettings{"/nowhere/genv-nvml", {}});
        errorOf(other);
    }
    EXPECT_EQ(openDescriptors(), before);
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
}

TEST_F(Helper, InheritsNeitherDescriptorsNorWhatIsBetweenSystemdAndTheService) {
    become({{"devices", {gpu(0)}}});
    const int leak = ::open(folder().c_str(), O_RDONLY | O_DIRECTORY);
    ::setenv("NOTIFY_SOCKET", "/nowhere", 1);
    service::NvmlGpus gpus(settings());
    gpus.sample();
    ::unsetenv("NOTIFY_SOCKET");
    ::close(leak);
    const fs::path proc = fmt::format("/proc/{}", children().at(0));
    for (const auto& entry : fs::directory_iterator(proc / "fd"))
        EXPECT_NE(fs::read_symlink(entry), folder());
    std::ifstream file(proc / "environ");
    const std::string environment(std::istreambuf_iterator<char>(file), {});
    EXPECT_NE(environment.find("GENV_FAKE_NVML="), std::string::npos);
    EXPECT_EQ(environment.find("NOTIFY_SOCKET="), std::string::npos);
}

// Simulates a process that hangs in the kernel: it was killed, but cannot be reaped. A tracer that
// does not release a dead process has the same effect.
class Tracer {
  public:
    explicit Tracer(pid_t traced) {
        std::array<int, 2> ends{};
        if (::pipe(ends.data()) < 0)
            return;
        pid_ = ::fork();
        if (pid_ == 0) {
            const char result = ::ptrace(PTRACE_SEIZE, traced, nullptr, nullptr) == 0 ? 'y' : 'n';
            const auto written = ::write(ends[1], &result, 1);
            for (;; ::pause()) {
                if (written != 1)
                    ::_exit(1);
            }
        }
        ::close(ends[1]);
        char result = 'n';
        works_ = ::read(ends[0], &result, 1) == 1 && result == 'y';
        ::close(ends[0]);
    }
    Tracer(const Tracer&) = delete;
    Tracer& operator=(const Tracer&) = delete;
    ~Tracer() {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }

    [[nodiscard]] bool works() const { return works_; }

  private:
    pid_t pid_ = -1;
    bool works_ = false;
};

TEST_F(Helper, ThoseThatCannotBeKilledAreKeptAndNoMoreThanThreeAreMade) {
    const json well{{"devices", {gpu(0)}}};
    const json hanging{{"devices", {gpu(0)}}, {"faults", {{"nvmlDeviceGetName", "hang"}}}};
    service::NvmlGpus gpus(hastySettings());
    std::list<Tracer> tracers;
    for (int i = 0; i < 3; ++i) {
        become(well);
        ASSERT_EQ(uuidsOf(gpus.sample()), Strings{gpuUuid(0)});
        auto now = children();
        tracers.emplace_back(*std::ranges::max_element(now));
        if (!tracers.back().works())
            GTEST_SKIP() << "this process may not trace others";
        become(hanging);
        EXPECT_EQ(errorOf(gpus), "genv-nvml did not answer in time");
    }
    become(well);
    const auto before = children();
    EXPECT_EQ(before.size(), 6U); // three helpers, three tracers
    EXPECT_EQ(errorOf(gpus), "genv-nvml hangs in the kernel: 3 processes");
    EXPECT_EQ(children(), before);
    tracers.clear();
    EXPECT_EQ(uuidsOf(gpus.sample()), Strings{gpuUuid(0)});
    EXPECT_EQ(children().size(), 1U);
}

} // namespace
