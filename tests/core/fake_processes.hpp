// SPDX-License-Identifier: LGPL-2.1-or-later
// Stand-in for the port to processes: a process exists because a test added it.
#pragma once

#include "core/base/error.hpp"
#include "core/ports/processes.hpp"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace genv::tests {

/// Processes that exist because a test added them.
class FakeProcesses : public core::Processes {
  public:
    struct State {
        core::ProcessFacts facts;
        bool exited = false;
        bool vanishesWhenSignalled = false; ///< between the last check and the signal
        std::vector<core::TerminationSignal> signals;
    };

    std::shared_ptr<State> add(core::Pid pid, core::Uid uid, std::uint64_t startTime = 7) {
        auto state = std::make_shared<State>();
        state->facts = {{pid, startTime}, {uid, uid, uid, uid}, 1};
        processes_[pid] = state;
        return state;
    }
    /// Ends a process. Its PID is unused until it is added again.
    void exit(core::Pid pid) {
        exitUnnoticed(pid);
        noticeExits();
    }
    /// Ends a process, whose exit is reported by noticeExits().
    void exitUnnoticed(core::Pid pid) {
        const auto state = processes_.at(pid);
        state->exited = true;
        processes_.erase(pid);
        unnoticed_.push_back(state->facts.identity);
    }
    void noticeExits() override {
        for (const core::ProcessIdentity& process : std::exchange(unnoticed_, {})) {
            if (listener_)
                listener_(process);
        }
    }

    /// Pins a process at once.
    core::PinnedProcess pin(core::Pid pid) {
        const auto found = processes_.find(pid);
        if (found == processes_.end())
            core::fail(core::ErrorCode::NoSuchProcess, "there is no process {}", pid);
        return {std::make_shared<Pin>(found->second), found->second->facts};
    }
    /// Returns the current facts of a process, or nothing if it has exited.
    std::optional<core::ProcessFacts> look(core::Pid pid) const {
        const auto found = processes_.find(pid);
        return found == processes_.end() ? std::nullopt : std::optional(found->second->facts);
    }

    std::shared_ptr<const core::ProcessHandle> hold(core::Pid pid) override { return pin(pid).pin; }
    void pin(core::Pid pid, core::Uid /*asker*/, PinAnswer answer) override {
        if (unheld.contains(pid))
            core::fail(core::ErrorCode::NoSuchProcess, "process {} cannot be held", pid);
        if (slow)
            pins_.emplace_back(pid, std::move(answer));
        else
            answer(read(pid));
    }
    /// Answers the pins that were requested while `slow`.
    void later() {
        for (const auto& [pid, answer] : std::exchange(pins_, {}))
            answer(read(pid));
    }
    std::set<core::Pid> unheld; ///< cannot even be held
    bool slow = false;
    std::map<core::Pid, core::ErrorCode> unreadable; ///< cannot be pinned, with this error
    [[nodiscard]] core::Pid pidOf(int /*pidfd*/) const override {
        core::fail(core::ErrorCode::InvalidArgs, "no descriptors here");
    }
    void pinDescriptor(int /*pidfd*/, core::Uid /*asker*/, PinAnswer /*answer*/) override {
        core::fail(core::ErrorCode::InvalidArgs, "no descriptors here");
    }
    std::vector<std::shared_ptr<const core::ProcessPin>>
    findAgain(const std::vector<core::ProcessIdentity>& processes) override {
        std::vector<std::shared_ptr<const core::ProcessPin>> pins;
        for (const core::ProcessIdentity& process : processes) {
            const auto facts = look(process.pid);
            pins.push_back(facts && facts->identity == process ? pin(process.pid).pin : nullptr);
        }
        return pins;
    }
    void loginUser(core::Pid pid, core::Uid /*asker*/, LoginAnswer answer) override {
        const auto found = logins.find(pid);
        answer(found == logins.end() ? std::nullopt : std::optional(found->second));
    }
    std::map<core::Pid, core::Uid>
        logins;                    ///< the user who logged in, by the process of the session
    std::set<core::Pid> contained; ///< in other PID namespaces
    void usesSamePids(core::Pid pid, core::Uid /*asker*/, NumbersAnswer answer) override {
        ++numberings;
        answer(!contained.contains(pid));
    }
    int numberings = 0; ///< how often that was asked
    [[nodiscard]] std::optional<core::ProcessIdentity> pinned(core::Pid /*pid*/) const override {
        return std::nullopt;
    }
    void lineage(core::Pid pid, core::Uid /*asker*/, LineageAnswer answer) override {
        if (const auto facts = look(pid))
            answer(core::Lineage{*facts, {}});
        else
            answer(core::Error(core::ErrorCode::NoSuchProcess, "it is gone"));
    }
    std::map<core::Pid, core::SlurmCgroup> cgroups; ///< of processes in Slurm jobs
    void slurmCgroup(core::Pid pid, core::Uid /*asker*/, CgroupAnswer answer) override {
        const auto found = cgroups.find(pid);
        answer(found == cgroups.end() ? std::nullopt : std::optional(found->second));
    }
    void onExit(std::function<void(const core::ProcessIdentity&)> listener) override {
        listener_ = std::move(listener);
    }

  private:
    class Pin : public core::ProcessPin {
      public:
        explicit Pin(std::shared_ptr<State> state)
            : state_(std::move(state)), identity_(state_->facts.identity) {}
        [[nodiscard]] const core::ProcessIdentity& identity() const override { return identity_; }
        [[nodiscard]] bool hasExited() const override { return state_->exited; }
        [[nodiscard]] bool hasUids(const core::ProcessUids& uids) const override {
            return state_->facts.uids == uids;
        }
        bool signal(core::TerminationSignal signal) const override {
            if (state_->exited || state_->vanishesWhenSignalled)
                return false;
            state_->signals.push_back(signal);
            return true;
        }

      private:
        std::shared_ptr<State> state_;
        core::ProcessIdentity identity_;
    };

    core::ProcessRead<core::PinnedProcess> read(core::Pid pid) {
        if (const auto why = unreadable.find(pid); why != unreadable.end())
            return core::Error(why->second, "it cannot be read");
        try {
            return pin(pid);
        } catch (const core::Error& error) {
            return error;
        }
    }

    std::map<core::Pid, std::shared_ptr<State>> processes_;
    std::vector<std::pair<core::Pid, PinAnswer>> pins_;
    std::function<void(const core::ProcessIdentity&)> listener_;
    std::vector<core::ProcessIdentity> unnoticed_;
};

} // namespace genv::tests
