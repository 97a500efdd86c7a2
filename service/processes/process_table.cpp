// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/processes/process_table.hpp"

#include "core/base/error.hpp"
#include "service/posix/shortage.hpp"
#include "service/processes/proc_files.hpp"
#include "service/processes/proc_text.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace genv::service {

namespace {

// PIDFD_THREAD, from Linux 6.9. Headers may lack it, and earlier kernels never set this flag.
constexpr int threadFlag = O_EXCL;

// The limits of one call: how long to wait, and how many hung processes a user may have before
// calls about other processes of this user are refused.
ProcBudget budgetOfCall() {
    return {1, ProcReader::answerTime};
}
constexpr std::size_t maxHungPerUser = 4;

// At the start, wait only for the first hung process of each user, and only briefly in total.
ProcBudget budgetOfStart() {
    return {1, 2 * ProcReader::answerTime};
}

class Handle : public core::ProcessHandle {
  public:
    explicit Handle(Pidfd process) : process_(std::move(process)) {}

    [[nodiscard]] bool hasExited() const override { return process_.hasExited(); }
    [[nodiscard]] bool hasUids(const core::ProcessUids& uids) const override {
        return process_.hasUids(uids);
    }
    bool signal(core::TerminationSignal signal) const override { return process_.signal(signal); }

  private:
    Pidfd process_;
};

core::Error noProcess(core::Pid pid) {
    return {core::ErrorCode::NoSuchProcess, fmt::format("there is no process {}", pid)};
}

// Returns the value that was read, or the error that explains why there is none.
template <typename Value>
core::ProcessRead<Value> valueOf(const ProcReading& reading, core::Pid pid) {
    if (const auto* value = std::get_if<Value>(&reading))
        return *value;
    if (std::holds_alternative<ProcHung>(reading) || std::holds_alternative<ProcPostponed>(reading))
        return core::Error(core::ErrorCode::Timeout,
                           fmt::format("process {} cannot be read: its entry in /proc, or those of "
                                       "others of its user, do not answer; try again in a minute",
                                       pid));
    if (std::holds_alternative<ProcShortage>(reading))
        return core::Error(
            core::ErrorCode::LimitsExceeded,
            fmt::format("the service has no room left to look at process {}; try again later",
                        pid));
    return noProcess(pid);
}

core::ProcessRead<std::optional<core::SlurmCgroup>>
cgroupOf(const core::ProcessRead<ProcClaims>& claims) {
    try {
        return claims.get().slurm;
    } catch (const core::Error& error) {
        return error;
    }
}

core::ProcessRead<std::optional<core::Uid>> loginOf(const core::ProcessRead<ProcLogin>& login) {
    try {
        return login.get().uid;
    } catch (const core::Error& error) {
        return error;
    }
}

core::ProcessRead<bool> numberingOf(const core::ProcessRead<ProcPidNamespace>& space) {
    try {
        return space.get().isServices;
    } catch (const core::Error& error) {
        return error;
    }
}

} // namespace

ProcessTable::ProcessTable(ProcAccess access, Worker::Post post, Ancestry ancestry)
    : ancestry_(ancestry), reader_(std::move(access)), worker_("genvd-procs", std::move(post)) {}

ProcessTable::~ProcessTable() = default;

std::shared_ptr<const core::ProcessHandle> ProcessTable::hold(core::Pid pid) {
    return std::make_shared<Handle>(Pidfd::open(pid));
}

void ProcessTable::read(ProcRequest request, core::Uid requester,
                        std::function<void(const ProcReading&)> done) {
    worker_.run<ProcReading>(
        requester,
        [&reader = reader_, request]() -> ProcReading {
            const auto owner = ownerOf(request.pid);
            if (!owner)
                return ProcGone{};
            if (reader.hung().hangsOf(*owner, request.part) >= maxHungPerUser)
                return ProcPostponed{};
            ProcBudget budget = budgetOfCall();
            return reader.read(request, budget);
        },
        std::move(done));
}

void ProcessTable::pin(core::Pid pid, core::Uid requester, PinAnswer answer) {
    pin(Pidfd::open(pid), requester, std::move(answer));
}

void ProcessTable::pin(Pidfd process, core::Uid requester, PinAnswer answer) {
    const core::Pid pid = process.pid();
    auto held = std::make_shared<Pidfd>(std::move(process));
    read({pid, ProcPart::Facts}, requester,
         [this, held, answer = std::move(answer)](const ProcReading& reading) {
             answer(pinnedBy(*held, reading));
         });
}

core::ProcessRead<core::PinnedProcess> ProcessTable::pinnedBy(Pidfd& held,
                                                              const ProcReading& reading) {
    try {
        const core::ProcessFacts facts = valueOf<core::ProcessFacts>(reading, held.pid()).get();
        // The process must still be alive after the read, so that the facts belong to the held
        // process.
        if (held.hasExited())
            core::fail(core::ErrorCode::NoSuchProcess, "process {} has exited", held.pid());
        return core::PinnedProcess{pins_.add(std::move(held), facts.identity), facts};
    } catch (const core::Error& error) {
        return error;
    }
}

core::Pid ProcessTable::pidOf(int pidfd) const {
    errno = 0;
    // This file belongs to the service, so no other process can delay the read.
    const auto text = readCapped(fmt::format("/proc/self/fdinfo/{}", pidfd), 4096);
    if (!text && isShortage(errno))
        core::fail(core::ErrorCode::LimitsExceeded,
                   "the service has no room left to look at a descriptor: {}; try again later",
                   std::generic_category().message(errno));
    const auto pid = text ? parseDescriptorPid(*text) : std::nullopt;
    if (!pid)
        core::fail(core::ErrorCode::InvalidArgs,
                   "invalid descriptor: expected one of a process (pidfd_open)");
    if (*pid == 0)
        core::fail(core::ErrorCode::InvalidArgs,
                   "the process of the descriptor is in another PID namespace, outside the "
                   "service's");
    // The descriptor of a thread hangs up when the thread ends, which says nothing about the
    // process.
    if ((::fcntl(pidfd, F_GETFL) & threadFlag) != 0)
        core::fail(core::ErrorCode::InvalidArgs,
                   "invalid descriptor of a thread: expected one of a process (pidfd_open "
                   "without PIDFD_THREAD)");
    if (*pid < 0)
        core::fail(core::ErrorCode::NoSuchProcess, "the process of the descriptor has exited");
    return static_cast<core::Pid>(*pid);
}

void ProcessTable::pinDescriptor(int pidfd, core::Uid requester, PinAnswer answer) {
    const core::Pid pid = pidOf(pidfd);
    core::Descriptor own(::fcntl(pidfd, F_DUPFD_CLOEXEC, 0));
    if (own.get() < 0)
        failForShortage(pid, errno);
    pin({std::move(own), pid}, requester, std::move(answer));
}

std::vector<std::shared_ptr<const core::ProcessPin>>
ProcessTable::findAgain(const std::vector<core::ProcessIdentity>& processes) {
    std::vector<std::optional<Pidfd>> held;
    std::vector<ProcRequest> requests;
    for (const core::ProcessIdentity& process : processes) {
        requests.push_back({process.pid, ProcPart::Identity});
        held.emplace_back();
        try {
            held.back().emplace(Pidfd::open(process.pid));
        } catch (const core::Error& error) {
            if (error.code() != core::ErrorCode::NoSuchProcess)
                throw;
        }
    }
    ProcBudget budget = budgetOfStart();
    const std::vector<ProcReading> readings = reader_.read(requests, budget);
    std::vector<std::shared_ptr<const core::ProcessPin>> pins(processes.size());
    for (std::size_t i = 0; i < processes.size(); ++i) {
        if (!held[i] || std::holds_alternative<ProcGone>(readings[i]) || held[i]->hasExited())
            continue;
        if (std::holds_alternative<ProcShortage>(readings[i]))
            failForShortage(processes[i].pid, ENOMEM);
        const auto* identity = std::get_if<core::ProcessIdentity>(&readings[i]);
        if (identity != nullptr && *identity != processes[i])
            continue;
        pins[i] = pins_.add(*std::move(held[i]), processes[i]);
        if (identity == nullptr)
            unverified_.push_back(pins[i]);
    }
    return pins;
}

std::optional<core::ProcessIdentity> ProcessTable::pinned(core::Pid pid) const {
    return pins_.living(pid);
}

void ProcessTable::lineage(core::Pid pid, core::Uid requester, LineageAnswer answer) {
    if (ancestry_ == Ancestry::ByKernel) {
        if (const auto lineage = askKernel(pid)) {
            answer(*lineage);
            return;
        }
    }
    read({pid, ProcPart::Lineage}, requester,
         [pid, answer = std::move(answer)](const ProcReading& reading) {
             answer(valueOf<core::Lineage>(reading, pid));
         });
}

void ProcessTable::slurmCgroup(core::Pid pid, core::Uid requester, CgroupAnswer answer) {
    read({pid, ProcPart::Claims}, requester,
         [pid, answer = std::move(answer)](const ProcReading& reading) {
             answer(cgroupOf(valueOf<ProcClaims>(reading, pid)));
         });
}

void ProcessTable::loginUser(core::Pid pid, core::Uid requester, LoginAnswer answer) {
    read({pid, ProcPart::Login}, requester,
         [pid, answer = std::move(answer)](const ProcReading& reading) {
             answer(loginOf(valueOf<ProcLogin>(reading, pid)));
         });
}

void ProcessTable::usesSamePids(core::Pid pid, core::Uid requester, NumbersAnswer answer) {
    read({pid, ProcPart::PidNamespace}, requester,
         [pid, answer = std::move(answer)](const ProcReading& reading) {
             answer(numberingOf(valueOf<ProcPidNamespace>(reading, pid)));
         });
}

// Returns nothing if the kernel does not support this. The start times of processes that are not
// pinned stay unknown, because ancestors are only compared with pinned processes.
std::optional<core::Lineage> ProcessTable::askKernel(core::Pid pid) const {
    const auto identify = [this](core::Pid each) {
        return pinned(each).value_or(core::ProcessIdentity{each, 0});
    };
    try {
        Pidfd process = Pidfd::open(pid);
        auto info = process.info();
        if (!info)
            return std::nullopt;
        core::Lineage lineage{{identify(pid), info->uids, info->parent}, {}};
        while (info->parent > 1 && lineage.ancestors.size() < maxAncestors) {
            Pidfd parent = Pidfd::open(info->parent);
            auto parentInfo = parent.info();
            // A process keeps its parent until the parent exits. The parent is unchanged, so the
            // PID belonged to it all the time.
            const auto again = process.info();
            if (!parentInfo || !again || again->parent != info->parent)
                break;
            lineage.ancestors.push_back(identify(info->parent));
            process = std::move(parent);
            info = parentInfo;
        }
        return lineage;
    } catch (const core::Error&) { // exited, a thread, or no free descriptor
        return std::nullopt;
    }
}

void ProcessTable::onExit(std::function<void(const core::ProcessIdentity&)> listener) {
    listener_ = std::move(listener);
}

int ProcessTable::descriptor() const {
    return pins_.descriptor();
}

void ProcessTable::noticeExits() {
    pins_.dispatch(listener_);
}

bool ProcessTable::hasUnverified() {
    std::erase_if(unverified_, [](const auto& pin) { return pin.expired(); });
    return !unverified_.empty();
}

void ProcessTable::verify() {
    std::vector<ProcRequest> requests;
    std::vector<std::weak_ptr<const core::ProcessPin>> pins;
    for (const auto& each : unverified_) {
        if (const auto pin = each.lock()) {
            requests.push_back({pin->identity().pid, ProcPart::Identity});
            pins.push_back(each);
        }
    }
    unverified_ = pins;
    if (requests.empty())
        return;
    worker_.run<std::vector<ProcReading>>(
        0,
        [&reader = reader_, requests] {
            ProcBudget budget;
            return reader.read(requests, budget);
        },
        [this, pins](const std::vector<ProcReading>& readings) { verified(pins, readings); });
}

void ProcessTable::verified(const std::vector<std::weak_ptr<const core::ProcessPin>>& pins,
                            const std::vector<ProcReading>& readings) {
    unverified_.clear();
    std::vector<core::ProcessIdentity> others;
    for (std::size_t i = 0; i < pins.size(); ++i) {
        const auto pin = pins[i].lock();
        if (!pin || pin->hasExited())
            continue;
        const auto* identity = std::get_if<core::ProcessIdentity>(&readings[i]);
        if (identity == nullptr)
            unverified_.push_back(pin);
        else if (*identity != pin->identity())
            others.push_back(pin->identity());
    }
    for (const core::ProcessIdentity& other : others) {
        if (listener_)
            listener_(other);
    }
}

} // namespace genv::service
