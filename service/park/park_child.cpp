// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/park/park_child.hpp"

#include "core/base/descriptor.hpp"
#include "core/base/glibc_pidfd.hpp"
#include "core/base/parent_end.hpp"
#include "core/base/text.hpp"
#include "service/park/cuda_library.hpp"
#include "service/posix/descriptor_wait.hpp"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>
#include <functional>
#include <system_error>
#include <utility>

namespace genv::service {

namespace {

using core::ParkingFault;
using Clock = std::chrono::steady_clock;

// What loads the library only to look at it.
constexpr ParkOwner nobody{65534, 65534};

// The child writes the first when its call has returned, and the second when it knows the state.
struct ToldResult {
    std::int32_t fault = -1; // ParkingFault, or -1 for success
    std::int32_t code = 0;
};
struct ToldState {
    std::int32_t state = 0;
};
struct ToldCapability {
    std::uint8_t library = 0;
    std::uint8_t functions = 0;
    std::array<char, maxParkDriver> driver{}; // ends with the first zero
};

// The steps of the child before its work. Each returns false if it failed.

bool armTimer(std::chrono::milliseconds deadline) {
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGKILL;
    timer_t timer{};
    itimerspec value{};
    value.it_value.tv_sec = deadline.count() / 1000;
    value.it_value.tv_nsec = deadline.count() % 1000 * 1'000'000;
    return ::timer_create(CLOCK_MONOTONIC, &event, &timer) == 0 &&
           ::timer_settime(timer, 0, &value, nullptr) == 0;
}

// The library gets neither the connection nor anything else. It may print into the journal.
bool replaceStandardStreams() {
    const core::Descriptor null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    return ::dup2(null.get(), STDIN_FILENO) == STDIN_FILENO &&
           ::dup2(STDERR_FILENO, STDOUT_FILENO) == STDOUT_FILENO;
}

bool dropCapabilities() {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    std::array<__user_cap_data_struct, 2> none{};
    return ::syscall(SYS_capset, &header, none.data()) == 0;
}

bool becomeOwner(const ParkOwner& owner) {
    uid_t real = 0;
    uid_t effective = 0;
    uid_t saved = 0;
    return ::setgroups(0, nullptr) == 0 && ::setresgid(owner.gid, owner.gid, owner.gid) == 0 &&
           ::setresuid(owner.uid, owner.uid, owner.uid) == 0 &&
           ::getresuid(&real, &effective, &saved) == 0 && real == owner.uid &&
           effective == owner.uid && saved == owner.uid && dropCapabilities() &&
           ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

// A dump of the child's memory would show the target's.
bool forbidDumps() {
    const rlimit none{0, 0};
    return ::setrlimit(RLIMIT_CORE, &none) == 0;
}

template <typename Told>
void tell(int pipe, const Told& told) {
    static_assert(sizeof told <= PIPE_BUF);
    if (::write(pipe, &told, sizeof told) != sizeof told)
        ::_exit(EXIT_FAILURE);
}

// A process that works for this one. The destructor kills it and waits briefly: a child that hangs
// in the kernel does not die, and is left to the manager of this unit.
class WorkingChild {
  public:
    /// Calls `work` with the end of a pipe, as this owner. Throws std::system_error.
    WorkingChild(const ParkOwner& owner, std::chrono::milliseconds deadline,
                 const std::function<void(int)>& work)
        : end_(Clock::now() + deadline) {
        std::array<int, 2> ends{-1, -1};
        if (::pipe2(ends.data(), O_CLOEXEC) < 0)
            throw std::system_error(errno, std::generic_category(), "pipe");
        told_ = core::Descriptor(ends[0]);
        const core::Descriptor own(ends[1]);
        const pid_t parent = ::getpid();
        pid_ = ::fork();
        if (pid_ < 0)
            throw std::system_error(errno, std::generic_category(), "fork");
        if (pid_ > 0)
            return;
        told_.close();
        if (armTimer(deadline) && replaceStandardStreams() && forbidDumps() && becomeOwner(owner) &&
            core::endWithParent(parent, SIGKILL))
            work(own.get());
        ::_exit(EXIT_FAILURE);
    }
    WorkingChild(const WorkingChild&) = delete;
    WorkingChild& operator=(const WorkingChild&) = delete;
    ~WorkingChild() {
        ::kill(pid_, SIGKILL);
        const core::Descriptor pidfd(::pidfd_open(pid_, 0));
        if (becomesReadable(pidfd.get(), Clock::now() + std::chrono::seconds{1}))
            ::waitpid(pid_, nullptr, WNOHANG);
    }

    /// Reads what the child tells next. Returns false if it ends first, or at the deadline.
    template <typename Told>
    bool hear(Told& told) const {
        auto* bytes = reinterpret_cast<char*>(&told);
        std::size_t size = 0;
        while (size < sizeof told && becomesReadable(told_.get(), end_)) {
            const ssize_t got = ::read(told_.get(), bytes + size, sizeof told - size);
            if (got < 0 && errno == EINTR)
                continue;
            if (got <= 0)
                return false;
            size += static_cast<std::size_t>(got);
        }
        return size == sizeof told;
    }
    [[nodiscard]] bool isLate() const { return Clock::now() >= end_; }

  private:
    Clock::time_point end_;
    core::Descriptor told_;
    pid_t pid_ = -1;
};

ToldResult makeCall(const CudaLibrary& library, const ParkCallRequest& request,
                    const ParkTarget& target) {
    const auto failure = library.call(request.call, target.pid(), request.lockTimeout);
    if (!failure)
        return {};
    const auto fault = target.hasExited() ? ParkingFault::Gone : failure->fault;
    return {static_cast<std::int32_t>(fault), failure->code};
}

void workOnCall(int pipe, const ParkCallRequest& request, const ParkTarget& target,
                const ParkOwner& owner) {
    if (const auto fault = target.objection(owner)) {
        tell(pipe, ToldResult{static_cast<std::int32_t>(*fault), 0});
        ::_exit(EXIT_SUCCESS);
    }
    const CudaLibrary library;
    // Told first: if the state hangs, the result is known.
    tell(pipe, makeCall(library, request, target));
    if (const auto state = library.state(target.pid()))
        tell(pipe, ToldState{static_cast<std::int32_t>(*state)});
    ::_exit(EXIT_SUCCESS); // without the library's own code for the end
}

[[noreturn]] void workOnCapability(int pipe) {
    const CudaLibrary library;
    ToldCapability told;
    told.library = library.isLoaded() ? 1 : 0;
    told.functions = library.hasFunctions() ? 1 : 0;
    const std::string version = library.version().substr(0, told.driver.size());
    std::copy(version.begin(), version.end(), told.driver.begin());
    tell(pipe, told);
    ::_exit(EXIT_SUCCESS);
}

bool isFault(std::int32_t number) {
    return number >= 0 && number <= static_cast<std::int32_t>(ParkingFault::Helper);
}

bool isState(std::int32_t number) {
    return number >= 0 && number <= static_cast<std::int32_t>(core::CheckpointState::Unknown);
}

} // namespace

core::ParkingReply callInChild(const ParkCallRequest& request, const ParkTarget& target,
                               const ParkOwner& owner, std::chrono::milliseconds deadline) {
    const WorkingChild child(owner, deadline,
                             [&](int pipe) { workOnCall(pipe, request, target, owner); });
    core::ParkingReply reply;
    ToldResult result;
    if (!child.hear(result)) {
        reply.failure =
            core::ParkingFailure{child.isLate() ? ParkingFault::Deadline : ParkingFault::Helper};
        return reply;
    }
    if (result.fault != -1) {
        reply.failure = core::ParkingFailure{
            isFault(result.fault) ? static_cast<ParkingFault>(result.fault) : ParkingFault::Helper,
            std::max(result.code, 0)};
    }
    if (ToldState told; child.hear(told) && isState(told.state))
        reply.state = static_cast<core::CheckpointState>(told.state);
    else if (!reply.failure)
        reply.state = core::CheckpointState::Unknown;
    return reply;
}

core::ParkingCapability capabilityInChild(std::chrono::milliseconds deadline) {
    const WorkingChild child(nobody, deadline, [](int pipe) { workOnCapability(pipe); });
    ToldCapability told;
    if (!child.hear(told))
        return {};
    const std::string driver(told.driver.begin(),
                             std::find(told.driver.begin(), told.driver.end(), '\0'));
    return {told.library == 1, told.functions == 1,
            core::printable(driver).substr(0, maxParkDriver)};
}

} // namespace genv::service
