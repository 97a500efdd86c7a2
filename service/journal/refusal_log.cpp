// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/journal/refusal_log.hpp"

#include "core/sentences/sentences.hpp"
#include "service/journal/subjects.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

namespace genv::service::journal {

namespace {

// Returns whether the caller lacked permission. Any other error means that the request was invalid
// or could not be fulfilled.
bool isForbidden(core::ErrorCode code) {
    return code == core::ErrorCode::AccessDenied ||
           code == core::ErrorCode::InteractiveAuthorizationRequired ||
           code == core::ErrorCode::QuotaExceeded || code == core::ErrorCode::LimitsExceeded;
}

// The methods that take something away. If it is gone already, the caller has what it asked for.
constexpr std::array removals{std::string_view("RemoveProcess"), std::string_view("RemoveKernel"),
                              std::string_view("RemoveProcessByPIDFD"),
                              std::string_view("TerminateProcess"), std::string_view("CancelWait")};

// Returns whether the error answers the call: the object of the call does not exist. Programs ask
// this regularly, for example whether their process is in an environment.
bool isAnswer(const policy::MethodRow& method, core::ErrorCode code) {
    const bool reads = method.requirement == policy::Requirement::Free ||
                       method.requirement == policy::Requirement::ReadHistory;
    switch (code) {
    case core::ErrorCode::NoSuchEnvironment:
    case core::ErrorCode::NoSuchProcess:
    case core::ErrorCode::NoSuchDevice:
    case core::ErrorCode::NoSuchWait:
    case core::ErrorCode::NotAttached:
        return reads || std::ranges::find(removals, method.member) != removals.end();
    case core::ErrorCode::NotSupported:
        return reads;
    default:
        return false;
    }
}

// Returns whether the service itself logs the error, with its caller.
bool isLoggedAnyway(const dbus::Refusal& refusal) {
    return refusal.method.member == std::string_view("Reload") &&
           refusal.code == core::ErrorCode::InvalidArgs;
}

// Returns the users whom the log may name in a line about them.
std::set<core::Uid> peopleOf(const std::optional<core::Actor>& caller) {
    std::set<core::Uid> people;
    if (caller)
        people.insert(caller->uid);
    if (caller && caller->login)
        people.insert(*caller->login);
    return people;
}

std::string sender(const dbus::Refusal& refusal) {
    if (!refusal.caller)
        return refusal.connection;
    const core::Actor& caller = *refusal.caller;
    return fmt::format("uid {} ({}){}", caller.uid, refusal.connection,
                       caller.login ? fmt::format(", logged in as uid {}", *caller.login) : "");
}

std::string lineOf(const dbus::Refusal& refusal) {
    return fmt::format("refused {}.{} from {}: {}: {}", refusal.method.interface,
                       refusal.method.member, sender(refusal), refusal.error, refusal.message);
}

} // namespace

RefusalLog::~RefusalLog() {
    while (!held_.empty())
        writeHeld(Key(held_.begin()->first));
    endWindow();
}

void RefusalLog::refused(const dbus::Refusal& refusal) {
    if (isAnswer(refusal.method, refusal.code) || isLoggedAnyway(refusal) ||
        isOneTooMany(refusal.caller))
        return;
    if (refusal.code == core::ErrorCode::InteractiveAuthorizationRequired) {
        hold(refusal);
        return;
    }
    if (isForbidden(refusal.code)) {
        record(refusal);
        return;
    }
    const bool serious =
        refusal.code == core::ErrorCode::Internal || refusal.code == core::ErrorCode::StorageFailed;
    log_.write(serious ? core::Severity::Error : core::Severity::Notice, lineOf(refusal),
               peopleOf(refusal.caller));
}

void RefusalLog::hold(const dbus::Refusal& refusal) {
    const Key key(refusal.connection, &refusal.method);
    writeHeld(key);
    held_.emplace(key, Held{refusal, scheduler_.after(retryTime, [this, key] { writeHeld(key); })});
}

void RefusalLog::writeHeld(const Key& key) {
    const auto held = held_.extract(key);
    if (!held.empty())
        record(held.mapped().refusal);
}

void RefusalLog::mayAsk(const std::string& connection, const policy::MethodRow& method) {
    held_.erase({connection, &method});
}

void RefusalLog::onDisconnected(const std::string& connection) {
    for (auto held = held_.lower_bound({connection, nullptr});
         held != held_.end() && held->first.first == connection;
         held = held_.lower_bound({connection, nullptr}))
        writeHeld(Key(held->first));
}

void RefusalLog::record(const dbus::Refusal& refusal) {
    Record record(kindOf("refused"), core::Severity::Notice, lineOf(refusal));
    record.add(field::method,
               fmt::format("{}.{}", refusal.method.interface, refusal.method.member));
    record.add(field::error, refusal.error);
    if (refusal.missing)
        record.add(field::action, policy::idOf(*refusal.missing));
    std::optional<core::Uid> owner = refusal.target.owner;
    // If the environment was not started, it does not exist and has no owner.
    const core::EnvironmentRecord* environment =
        refusal.target.environment ? ledger_.find(*refusal.target.environment) : nullptr;
    if (environment != nullptr) {
        addEnvironment(record, *environment);
        if (!owner)
            owner = environment->uid;
    }
    addDevices(record, ledger_, refusal.target.devices);
    if (refusal.target.pid)
        record.add(field::pid, std::uint64_t{*refusal.target.pid});
    records_.push(std::move(record), owner, refusal.caller);
}

bool RefusalLog::isOneTooMany(const std::optional<core::Actor>& caller) {
    if (!timer_)
        timer_ = scheduler_.after(window, [this] { endWindow(); });
    const auto uid = caller ? std::optional(caller->uid) : std::nullopt;
    return ++counts_[uid] > maxPerWindow;
}

void RefusalLog::endWindow() {
    for (const auto& [caller, count] : std::exchange(counts_, {})) {
        if (count > maxPerWindow)
            log_.notice("{} of {} {} refused and not listed",
                        core::counted(count - maxPerWindow, "more call"),
                        caller ? fmt::format("uid {}", *caller) : "others that read",
                        count - maxPerWindow == 1 ? "was" : "were");
    }
    timer_.reset();
}

} // namespace genv::service::journal
