// SPDX-License-Identifier: LGPL-2.1-or-later
// The helper behind a socket: systemd starts one for each connection. Only the kernel and the end
// of its connection end it. A hang, a crash and a missing socket each cost one sample.
#include "service/posix/descriptor_wait.hpp"
#include "tests/service/gpu/nvml_fixture.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>

using namespace genv;
using namespace genv::tests;

namespace {

using Strings = std::vector<std::string>;
namespace fs = std::filesystem;

// The time limit of a helper that is not killed; longer than any answer on a busy machine.
constexpr const char* timeLimit = "--time-limit=5";

sockaddr_un addressOf(const fs::path& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.native().copy(&address.sun_path[0], sizeof address.sun_path - 1);
    return address;
}

/// Stands for genv-nvml.socket: Accept=yes and MaxConnections=. It does not kill helpers during a
/// test.
class SocketUnit {
  public:
    SocketUnit(const fs::path& path, std::vector<std::string> arguments,
               std::size_t maxConnections = 4)
        : arguments_(std::move(arguments)), maxConnections_(maxConnections) {
        const sockaddr_un address = addressOf(path);
        std::array<int, 2> ends{};
        if (::bind(listening_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) <
                0 ||
            ::listen(listening_.get(), 8) < 0 || ::pipe2(ends.data(), O_CLOEXEC) < 0)
            throw std::runtime_error("no socket");
        stopped_ = core::Descriptor(ends[0]);
        stop_ = core::Descriptor(ends[1]);
        thread_ = std::thread([this] { accept(); });
    }
    SocketUnit(const SocketUnit&) = delete;
    SocketUnit& operator=(const SocketUnit&) = delete;
    ~SocketUnit() {
        stop_ = core::Descriptor();
        thread_.join();
        // All clients have disconnected, so the helpers end by themselves.
        for (service::ChildProcess& helper : helpers_)
            EXPECT_TRUE(helper.reap(timeout));
    }

    /// Returns the number of helpers that it has started.
    std::size_t started() {
        const std::lock_guard lock(mutex_);
        return helpers_.size();
    }
    /// Waits for the end of the n-th helper and returns how it ended.
    std::string endOf(std::size_t number) {
        service::ChildProcess* helper = nullptr;
        {
            const std::lock_guard lock(mutex_);
            helper = &helpers_.at(number);
        }
        return helper->reap(timeout).value_or("has not ended");
    }
    void kill(std::size_t number) {
        const std::lock_guard lock(mutex_);
        helpers_.at(number).kill();
    }

  private:
    void accept() {
        for (;;) {
            std::array<pollfd, 2> waiting{pollfd{listening_.get(), POLLIN, 0},
                                          pollfd{stopped_.get(), POLLIN, 0}};
            ::poll(waiting.data(), waiting.size(), -1);
            if (waiting[1].revents != 0)
                return;
            // Whoever sees a helper that has ended sees its connection closed: nobody gets the
            // mutex while this end is open.
            const std::lock_guard lock(mutex_);
            const core::Descriptor connection(
                ::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
            if (living() < maxConnections_)
                helpers_.emplace_back(GENV_NVML, arguments_, connection.get());
        }
    }

    std::size_t living() {
        std::size_t count = 0;
        for (service::ChildProcess& helper : helpers_)
            count += helper.reap(std::chrono::milliseconds{0}) ? 0U : 1U;
        return count;
    }

    std::vector<std::string> arguments_;
    std::size_t maxConnections_;
    core::Descriptor listening_{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    core::Descriptor stopped_;
    core::Descriptor stop_;
    std::mutex mutex_;
    std::deque<service::ChildProcess> helpers_;
    std::thread thread_;
};

class HelperSocket : public NvmlTest {
  protected:
    HelperSocket() { become(well); }

    [[nodiscard]] fs::path path() const { return folder() / "socket"; }
    [[nodiscard]] Strings arguments() const {
        return {timeLimit, fmt::format("--gpu-folder={}", (folder() / "gpus").string())};
    }
    [[nodiscard]] service::NvmlSettings
    client(std::chrono::milliseconds answerTime = timeout) const {
        service::NvmlSettings settings;
        settings.firstAnswerTime = timeout;
        settings.answerTime = answerTime;
        settings.socket = path();
        settings.connectionInterval = std::chrono::milliseconds{0};
        return settings;
    }

    const json well{{"devices", {gpu(0)}}};
    const json hanging{{"devices", {gpu(0)}}, {"faults", {{"nvmlDeviceGetName", "hang"}}}};
    const json crashing{{"devices", {gpu(0)}}, {"faults", {{"nvmlDeviceGetName", "crash"}}}};
    const std::string gone = "genv-nvml ended, or systemd refused the connection; \"journalctl -u "
                             "'genv-nvml*'\" may show the reason";
};

TEST_F(HelperSocket, OneConnectionServesManySamplesAndItsEndEndsTheHelper) {
    SocketUnit unit(path(), arguments());
    {
        service::NvmlGpus gpus(client());
        for (int i = 0; i < 20; ++i)
            EXPECT_EQ(uuidsOf(gpus.sample()), Strings{gpuUuid(0)});
    }
    EXPECT_EQ(unit.started(), 1U);
    EXPECT_EQ(unit.endOf(0), "exited with status 0");
}

TEST_F(HelperSocket, OneThatHangsIsLeftAtTheDeadlineAndEndedByTheKernel) {
    SocketUnit unit(path(), arguments());
    service::NvmlGpus gpus(client(std::chrono::milliseconds{300}));
    gpus.sample();
    become(hanging);
    EXPECT_EQ(errorOf(gpus), "genv-nvml did not answer in time");
    become(well);
    EXPECT_EQ(uuidsOf(gpus.sample()), Strings{gpuUuid(0)});
    EXPECT_EQ(unit.started(), 2U);
    EXPECT_EQ(unit.endOf(0), "ended by signal 9 (Killed)");
}

TEST_F(HelperSocket, OneThatCrashesIsReplacedAtTheNextSample) {
    SocketUnit unit(path(), arguments());
    service::NvmlGpus gpus(client());
    gpus.sample();
    become(crashing);
    EXPECT_EQ(errorOf(gpus), gone);
    EXPECT_EQ(unit.endOf(0), "ended by signal 6 (Aborted)");
    become(well);
    EXPECT_EQ(uuidsOf(gpus.sample()), Strings{gpuUuid(0)});
}

TEST_F(HelperSocket, OneThatEndsBetweenSamplesIsReplacedUnnoticed) {
    SocketUnit unit(path(), arguments());
    service::NvmlGpus gpus(client());
    gpus.sample();
    unit.kill(0);
    unit.endOf(0);
    EXPECT_EQ(uuidsOf(gpus.sample()), Strings{gpuUuid(0)});
    EXPECT_EQ(unit.started(), 2U);
}

TEST_F(HelperSocket, WithoutOneItSaysSoAndTriesAgain) {
    std::optional<service::NvmlGpus> gpus(client());
    EXPECT_EQ(errorOf(*gpus), fmt::format("genv-nvml cannot be reached at {}: No such file or "
                                          "directory; check that its socket unit runs",
                                          path().string()));
    { SocketUnit stopped(path(), arguments()); }
    EXPECT_EQ(errorOf(*gpus), fmt::format("genv-nvml cannot be reached at {}: Connection refused; "
                                          "check that its socket unit runs",
                                          path().string()));
    fs::remove(path());
    SocketUnit unit(path(), arguments());
    EXPECT_EQ(uuidsOf(gpus->sample()), Strings{gpuUuid(0)});
    gpus.reset();
}

TEST_F(HelperSocket, WhoIsNotLetInComesInLater) {
    SocketUnit unit(path(), arguments(), 1);
    std::optional<service::NvmlGpus> first(client());
    first->sample();
    service::NvmlGpus second(client());
    EXPECT_EQ(errorOf(second), gone);
    first.reset();
    unit.endOf(0);
    EXPECT_EQ(uuidsOf(second.sample()), Strings{gpuUuid(0)});
}

TEST_F(HelperSocket, ConnectionsKeepTheirDistance) {
    SocketUnit unit(path(), arguments());
    service::NvmlSettings settings = client();
    settings.connectionInterval = std::chrono::milliseconds{300};
    service::NvmlGpus gpus(settings);
    become(crashing);
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(errorOf(gpus), gone);
    EXPECT_EQ(unit.started(), 3U);
    EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds{600});
}

TEST_F(HelperSocket, WhereNobodyAcceptsItDoesNotWait) {
    const sockaddr_un address = addressOf(path());
    const auto* socketAddress = reinterpret_cast<const sockaddr*>(&address);
    constexpr int type = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
    const core::Descriptor listening(::socket(AF_UNIX, type, 0));
    ASSERT_EQ(::bind(listening.get(), socketAddress, sizeof address), 0);
    ASSERT_EQ(::listen(listening.get(), 0), 0);
    std::vector<core::Descriptor> others; // as many as MaxConnections= permits
    do
        others.emplace_back(::socket(AF_UNIX, type, 0));
    while (::connect(others.back().get(), socketAddress, sizeof address) == 0);
    service::NvmlGpus gpus(client());
    EXPECT_EQ(errorOf(gpus), fmt::format("genv-nvml cannot be reached at {}: Resource temporarily "
                                         "unavailable; check that its socket unit runs",
                                         path().string()));
}

TEST_F(HelperSocket, APathThatIsTooLongIsAnError) {
    service::NvmlSettings settings = client();
    settings.socket = "/" + std::string(200, 'x');
    service::NvmlGpus gpus(settings);
    EXPECT_TRUE(errorOf(gpus).ends_with("File name too long; check that its socket unit runs"));
}

// Two services on one machine, such as one under test beside the main one.
TEST_F(HelperSocket, ServesSeveral) {
    SocketUnit unit(path(), arguments());
    service::NvmlGpus first(client());
    service::NvmlGpus second(client());
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(uuidsOf(first.sample()), Strings{gpuUuid(0)});
        EXPECT_EQ(uuidsOf(second.sample()), Strings{gpuUuid(0)});
    }
    EXPECT_EQ(unit.started(), 2U);
}

} // namespace
