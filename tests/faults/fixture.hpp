// SPDX-License-Identifier: LGPL-2.1-or-later
// A service whose system calls fail when the test says so, and checks of its state afterwards.
#pragma once

#include "tests/bus/support/fixture.hpp"
#include "tests/bus/support/queue.hpp"
#include "tests/faults/injection.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <stdexcept>
#include <string>

namespace genv::tests {

/// Returns whether to run all cases instead of a sample of them.
inline bool isFull() {
    return std::getenv("GENV_TEST_FULL") != nullptr;
}

/// Returns the folder of the private bus.
inline std::filesystem::path busFolder() {
    const char* folder = std::getenv("GENV_PRIVATE_BUS");
    if (folder == nullptr)
        throw std::runtime_error("run this through tests/private_bus/private-bus");
    return folder;
}

/// The memory page that is shared with the service.
class Injector {
  public:
    Injector() : path_(busFolder() / "injection") {
        const int fd = ::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (fd < 0 || ::ftruncate(fd, sizeof(Injection)) < 0)
            throw std::runtime_error(path_);
        page_ = static_cast<Injection*>(
            ::mmap(nullptr, sizeof(Injection), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
        ::close(fd);
        if (page_ == MAP_FAILED)
            throw std::runtime_error(path_);
    }
    Injector(const Injector&) = delete;
    Injector& operator=(const Injector&) = delete;
    ~Injector() { ::munmap(page_, sizeof(Injection)); }

    /// From now on, counts the calls of these classes. `count` calls starting with number `first`
    /// fail (0: all of them).
    void arm(std::uint32_t classes, FaultAction action, std::uint32_t first, int error = 0,
             std::uint32_t count = 1) {
        disarm();
        page_->classes = classes;
        page_->action = action;
        page_->error = error;
        page_->first = first;
        page_->count = count;
        page_->seen = 0;
        page_->fired = 0;
        __atomic_store_n(&page_->armed, 1U, __ATOMIC_RELEASE);
    }
    void disarm() { __atomic_store_n(&page_->armed, 0U, __ATOMIC_RELEASE); }
    [[nodiscard]] std::uint32_t seen() const {
        return __atomic_load_n(&page_->seen, __ATOMIC_ACQUIRE);
    }
    [[nodiscard]] std::uint32_t fired() const {
        return __atomic_load_n(&page_->fired, __ATOMIC_ACQUIRE);
    }
    void setWall(std::chrono::seconds ahead) {
        __atomic_store_n(&page_->wallOffset, std::chrono::microseconds(ahead).count(),
                         __ATOMIC_RELEASE);
    }
    void setBoot(std::chrono::seconds ahead) {
        __atomic_store_n(&page_->bootOffset, std::chrono::microseconds(ahead).count(),
                         __ATOMIC_RELEASE);
    }
    [[nodiscard]] const std::string& path() const { return path_; }

  private:
    std::string path_;
    Injection* page_ = nullptr;
};

class FaultTest : public BusTest {
  protected:
    explicit FaultTest(std::uint32_t devices = 8)
        : BusTest({{"GENV_MOCK_DEVICE_COUNT", std::to_string(devices)}}) {
        service.end(SIGTERM);
        // Removes the shell files of an earlier test.
        std::filesystem::remove_all(Service::stateFolder().parent_path() / "shell");
        service.set("LD_PRELOAD", GENV_TEST_PRELOAD);
        service.set(injectionVariable, injector.path());
        service.start();
    }

    std::map<std::uint32_t, std::string> holders() { return holdersOf(*asRoot); }

    /// Returns an environment as every user sees it; "" if there is none.
    std::string describe(const std::string& id) {
        if (!asRoot->manager("GetEnvironment", "s", id.c_str()).ok())
            return "";
        std::string text;
        for (const char* property :
             {"Id", "Uid", "Name", "Created", "Gpus", "Processes", "Devices"})
            text += asRoot->property(environmentPath(id), environmentInterface, property) + "|";
        return text;
    }

    /// Returns the devices in the shell file of an environment; "" if there is no file.
    static std::string shellFile(const std::string& id) {
        std::string text;
        const std::filesystem::path label = std::filesystem::path(environmentPath(id)).filename();
        std::ifstream file(Service::stateFolder().parent_path() / "shell" / label);
        std::getline(file, text);
        std::getline(file, text);
        return text;
    }
    /// Expects that every living environment has a correct file, and that there is no other file.
    void expectShellFilesFor(const std::set<std::string>& ids) {
        std::size_t files = 0;
        std::string names;
        for (const auto& entry :
             std::filesystem::directory_iterator(Service::stateFolder().parent_path() / "shell")) {
            files += entry.path().filename() == "new." ? 0U : 1U;
            (names += ' ') += entry.path().filename().string();
        }
        EXPECT_EQ(files, ids.size()) << names;
        for (const std::string& id : ids) {
            const std::string devices = devicesOf(id);
            EXPECT_EQ(shellFile(id), devices.empty() ? "-1" : devices) << id;
        }
    }

    /// Waits until a call is answered or the service has ended. If it ends, the bus answers for it.
    /// The bus may notice the end of the connection before this process can notice the end of the
    /// service.
    void finishOrEnd(Client& client, const PendingCall& call) {
        const auto deadline = std::chrono::steady_clock::now() + eventDeadline;
        while (!call.answered && !service.hasEnded()) {
            if (std::chrono::steady_clock::now() > deadline)
                throw std::runtime_error("a call was not answered, and the service lives");
            if (sd_bus_process(client.bus(), nullptr) <= 0)
                sd_bus_wait(client.bus(), 10'000);
        }
        const std::string& error = call.answer.error;
        if (call.answered &&
            (error == SD_BUS_ERROR_NO_REPLY || error == SD_BUS_ERROR_SERVICE_UNKNOWN))
            waitUntil([&] { return service.hasEnded(); }, "the end of the service");
    }
    /// Waits for one turn of the service's loop: the work of earlier calls is done, or the service
    /// has ended.
    void turn() {
        const auto ping = asRoot->start(managerPath, "org.freedesktop.DBus.Peer", "Ping");
        finishOrEnd(*asRoot, *ping);
    }
    /// Disarms. Returns whether the service was killed.
    bool wasKilled() {
        turn();
        injector.disarm();
        turn();
        if (injector.fired() == 0)
            return false;
        waitUntil([&] { return service.hasEnded(); }, "the end of the service");
        return true;
    }

    Injector injector;
};

} // namespace genv::tests
