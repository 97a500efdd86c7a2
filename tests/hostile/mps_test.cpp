// SPDX-License-Identifier: LGPL-2.1-or-later
// The MPS server serves many users, so the rules spare it. No process that a user starts counts as
// the server, and root can still terminate the server.
#include "core/base/glibc_pidfd.hpp"
#include "tests/bus/support/fixture.hpp"
#include "tests/hostile/made.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace genv::tests {
namespace {

namespace fs = std::filesystem;

// The folder in which root installed MPS. As with /usr/bin, no other user can write to a folder on
// the path.
const fs::path installed = "/run/mps-test";
const fs::path installedServer = installed / "nvidia-cuda-mps-server";
const fs::path installedControl = installed / "nvidia-cuda-mps-control";

struct Start {
    core::Uid uid = alice; ///< of the control daemon, or of the process that starts the server
    core::Uid serverUid = alice;  ///< the user as which the server runs
    bool hasControl = true;       ///< the server's parent is a control daemon
    bool inOwnNamespaces = false; ///< other files are mounted over both programs there
    fs::path serverProgram = installedServer;
};

bool writeFile(const char* file, const char* text) {
    std::ofstream out(file);
    out << text;
    out.flush();
    return static_cast<bool>(out);
}

// Becomes root in user and mount namespaces of alice's, with a program of her choice under both
// names.
bool enterNamespaces() {
    return ::unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 &&
           writeFile("/proc/self/uid_map", "0 1001 1") &&
           ::mount(GENV_TEST_WAITER, installedServer.c_str(), nullptr, MS_BIND, nullptr) == 0 &&
           ::mount(GENV_TEST_WAITER, installedControl.c_str(), nullptr, MS_BIND, nullptr) == 0;
}

bool become(core::Uid uid) {
    return ::setresgid(uid, uid, uid) == 0 && ::setresuid(uid, uid, uid) == 0 &&
           ::prctl(PR_SET_DUMPABLE, 1) == 0;
}

void execute(const fs::path& program, const char* name, int ready) {
    ::execl(program.c_str(), program.c_str(), name, std::to_string(ready).c_str(), nullptr);
    ::_exit(127);
}

// A server that was started in some way, and all processes that were started with it.
class Disguised {
  public:
    explicit Disguised(const Start& start) {
        int ready[2];
        if (::pipe(ready) != 0 || ::fcntl(ready[0], F_SETFD, FD_CLOEXEC) != 0)
            throw std::runtime_error("pipe");
        started_ = ::fork();
        if (started_ == 0)
            run(start, ready[1]);
        ::close(ready[1]);
        pid_t pid = 0;
        for (int programs = start.hasControl ? 2 : 1; programs > 0; --programs) {
            if (::read(ready[0], &pid, sizeof(pid)) != sizeof(pid))
                break;
            if (pid != started_ || !start.hasControl)
                pid_ = pid;
        }
        ::close(ready[0]);
        if (pid_ > 0)
            pidfd_ = ::pidfd_open(pid_, 0);
    }
    Disguised(const Disguised&) = delete;
    Disguised& operator=(const Disguised&) = delete;
    ~Disguised() {
        if (hasStarted())
            ::kill(pid_, SIGKILL);
        ::kill(started_, SIGKILL);
        ::waitpid(started_, nullptr, 0);
        ::close(pidfd_);
    }

    [[nodiscard]] bool hasStarted() const { return pidfd_ >= 0; }
    [[nodiscard]] core::Pid pid() const { return static_cast<core::Pid>(pid_); }
    [[nodiscard]] bool hasEnded() const {
        pollfd end{pidfd_, POLLIN, 0};
        return ::poll(&end, 1, 0) == 1;
    }

  private:
    [[noreturn]] static void run(const Start& start, int ready) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if ((start.uid != root && !become(start.uid)) ||
            (start.inOwnNamespaces && !enterNamespaces()))
            ::_exit(1);
        if (start.hasControl && ::fork() != 0)
            execute(installedControl, "control", ready);
        if (start.serverUid != start.uid && !become(start.serverUid))
            ::_exit(1);
        execute(start.serverProgram, computeProcessName, ready);
        ::_exit(127);
    }

    pid_t started_ = -1;
    pid_t pid_ = -1;
    int pidfd_ = -1;
};

class MpsServer : public BusTest {
  protected:
    MpsServer() : BusTest({{"GENV_MOCK_DEVICE_COUNT", "1"}}) {
        fs::create_directories(installed);
        for (const fs::path& program : {installedServer, installedControl})
            fs::copy_file(GENV_TEST_WAITER, program, fs::copy_options::overwrite_existing);
        hers = fs::path("/run") / "alices";
        fs::create_directories(hers);
        if (::chown(hers.c_str(), alice, alice) != 0)
            throw std::runtime_error("chown");
        fs::copy_file(GENV_TEST_WAITER, hers / installedServer.filename(),
                      fs::copy_options::overwrite_existing);
    }
    ~MpsServer() override {
        fs::remove_all(installed);
        fs::remove_all(hers);
    }

    /// The ways in which alice makes a process that looks like the server.
    [[nodiscard]] std::vector<std::pair<const char*, Start>> disguises() const {
        return {
            {"mounts over its name", {.hasControl = false, .inOwnNamespaces = true}},
            {"mounts over both names, as root of her namespace", {.inOwnNamespaces = true}},
            {"the server itself, which may load a library of hers", {.hasControl = false}},
            {"the server itself from her own control daemon", {}},
            {"root's file in a folder of hers, from root's control daemon",
             {.uid = root, .serverProgram = hers / installedServer.filename()}},
        };
    }

    /// Retries until the service sees the process: a sample is used for a second.
    static Answer terminate(Client& client, const Disguised& process) {
        Answer answer;
        waitUntil(
            [&] {
                answer = client.manager("TerminateProcess", "u", process.pid());
                return answer.error != error::noSuchProcess;
            },
            "the process to be seen");
        return answer;
    }
    /// Returns the kinds of an enforcement's actions.
    static std::vector<std::string> kindsOf(const Answer& answer) {
        EXPECT_EQ(answer.error, "") << answer.text;
        std::vector<std::string> kinds;
        sd_bus_message* message = answer.message.get();
        sd_bus_message_enter_container(message, 'a', "(sa{sv})");
        while (sd_bus_message_enter_container(message, 'r', "sa{sv}") > 0) {
            const char* kind = nullptr;
            sd_bus_message_read(message, "s", &kind);
            kinds.emplace_back(kind);
            sd_bus_message_skip(message, "a{sv}");
            sd_bus_message_exit_container(message);
        }
        return kinds;
    }

    fs::path hers; ///< a folder of alice's that contains a file of root's with the server's name
};

TEST_F(MpsServer, ThatIsADisguiseIsEndedByTheRules) {
    for (const auto& [what, start] : disguises()) {
        const Disguised disguised(start);
        if (!disguised.hasStarted() && start.inOwnNamespaces)
            continue; // no user namespaces here
        ASSERT_TRUE(disguised.hasStarted()) << what;
        EXPECT_TRUE(asRoot->manager("Enforce", "a{sv}", 1, "non-env-processes", "b", 1).ok());
        waitUntil([&] { return disguised.hasEnded(); }, what);
    }
}

TEST_F(MpsServer, ThatIsADisguiseIsEndedByItsUserAndByRoot) {
    for (const auto& [what, start] : disguises()) {
        for (Client* client : {asAlice.get(), asRoot.get()}) {
            const Disguised disguised(start);
            if (!disguised.hasStarted() && start.inOwnNamespaces)
                continue; // no user namespaces here
            ASSERT_TRUE(disguised.hasStarted()) << what;
            const Answer answer = terminate(*client, disguised);
            EXPECT_TRUE(answer.ok()) << what << ": " << answer.text;
            waitUntil([&] { return disguised.hasEnded(); }, what);
        }
    }
}

TEST_F(MpsServer, OfRootsControlDaemonIsSparedByAllButRootsRequest) {
    // The server runs as the user whom it serves first.
    const Disguised genuine({.uid = root});
    ASSERT_TRUE(genuine.hasStarted());
    EXPECT_TRUE(
        kindsOf(asRoot->manager("Enforce", "a{sv}", 1, "non-env-processes", "b", 1)).empty());
    const Answer alices = terminate(*asAlice, genuine);
    EXPECT_EQ(alices.error, error::invalidArgs);
    EXPECT_NE(alices.text.find("serves others"), std::string::npos) << alices.text;
    const std::string report = R"({"terminate":{"processes":[{"pid":)" +
                               std::to_string(genuine.pid()) +
                               R"(,"eid":null,"used_gpu_memory":[{"index":0}]}]}})";
    EXPECT_EQ(kindsOf(asRoot->manager("Execute", "s", report.c_str())),
              std::vector<std::string>{"failed"})
        << "a report is made by rules, which do not know it";
    EXPECT_FALSE(genuine.hasEnded());
    const Answer roots = terminate(*asRoot, genuine);
    EXPECT_TRUE(roots.ok()) << roots.text;
    waitUntil([&] { return genuine.hasEnded(); }, "the server to end");
}

} // namespace
} // namespace genv::tests
