// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/calls/intake.hpp"

#include "core/base/error.hpp"
#include "core/settings/caps.hpp"
#include "dbus/contract/names.hpp"
#include "policy/actions.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

namespace genv::dbus {

namespace {

namespace caps = core::caps;
using contract::error::limitsExceeded;

constexpr const char* floodOfStrangers =
    "too many calls from new connections; try again in a moment";

// The size of the kernel's send buffer; sd-bus would set 8 MiB. The bus forwards the service's
// messages in the order in which they were sent. Messages that are not sent yet can still be
// overtaken by a reply to another user.
constexpr int bytesUnread = 32 << 10;

// Up to this number of waiting calls, they are started in the order of arrival.
constexpr std::size_t callsInOrder = 16;

// Refusals are queued for each user like calls. This number of them is sent along with a call.
constexpr int refusalsPerTurn = 2;

// The minimum time between two calls of a user, and the maximum time that can be saved up for a
// burst.
constexpr core::BootTime::duration pause =
    core::BootTime::duration{std::chrono::seconds{1}} / caps::callsPerUserEachSecond;
static_assert(pause.count() > 0);
constexpr core::BootTime::duration maxSaved = caps::callsPerUser * pause;

// The timeout for a reply of the bus, after which it is asked again. Longer than a flood keeps the
// bus from replying: a late reply is ignored.
constexpr std::chrono::seconds questionTimeout{10};

// The minimum time between two log messages about a flood by the same user.
constexpr std::chrono::minutes floodNews{1};

// Calls larger than this are refused. No method needs more.
constexpr raw::CallSize maxCallSize{caps::valuesPerCall, caps::bytesPerCall};

std::string tooLarge(std::size_t maxBytes) {
    return fmt::format("the arguments are too large; a call takes at most {} values and {} bytes",
                       caps::valuesPerCall, maxBytes);
}

// Returns whether a message comes from the bus itself, or from sd-bus, which reports a closed
// connection. Nobody else can have these names.
bool isOfTheBus(std::string_view sender) {
    return sender == contract::busDriver || sender == "org.freedesktop.DBus.Local";
}

} // namespace

Intake::Intake(sdbus::IConnection& connection, sdbus::IConnection& questions, Callers& callers,
               core::Processes& processes, const core::Clock& clock, core::Log& log)
    : callers_(callers), processes_(processes), clock_(clock), log_(log), bus_(connection),
      questions_(questions), slot_(bus_.addFilter([this](raw::Message message) {
          return tookLast_ = take(std::move(message));
      })) {
    ::setsockopt(connection.getEventLoopPollData().fd, SOL_SOCKET, SO_SNDBUF, &bytesUnread,
                 sizeof(bytesUnread));
}

Intake::~Intake() {
    *alive_ = false;
}

bool Intake::take(raw::Message message) {
    if (message.isSignal())
        return !isOfTheBus(message.sender()); // genvd subscribes to no other signals
    if (!message.isCall())
        return false;
    if (served_ == message) {
        served_.reset();
        return false;
    }
    const std::optional<raw::CallSize> size = message.size(maxCallSize);
    if (!size) {
        message.refuse(contract::error::invalidArgs, tooLarge(caps::bytesPerCall));
        return true;
    }
    const std::string sender(message.sender());
    if (sender.empty()) {
        message.refuse(contract::error::accessDenied, "the call has no sender");
        return true;
    }
    Held held{std::move(message), sender, size->bytes, ++lastNumber_};
    const std::optional<core::Uid> uid = callers_.known(sender);
    if (uid && !strangers_.contains(sender) && !needsLogin(held))
        takeOfUser(*uid, std::move(held));
    else
        takeOfStranger(std::move(held));
    return true;
}

// Returns whether this is a call by root that changes something, and the login user is not known
// yet.
bool Intake::needsLogin(const Held& held) const {
    return callers_.pidToLookUp(held.sender) &&
           !policy::isFree(held.call.interface(), held.call.member());
}

// Never blocks on the bus: its reply comes after all messages that it has already passed on, which
// would have to be read into memory in the meantime.
void Intake::takeOfStranger(Held held) {
    const std::string name = held.sender;
    const auto [found, isNew] = strangers_.try_emplace(name);
    Stranger& stranger = found->second;
    const bool isKnown = callers_.known(name).has_value();
    if (isNew && !isKnown && !ask(stranger, name)) {
        strangers_.erase(found);
        held.call.refuse(contract::error::accessDenied,
                         "cannot ask the bus for the sender of this call");
        return;
    }
    if (makeRoom(stranger.account, held.bytes)) {
        ++callsOfStrangers_;
        bytesOfStrangers_ += held.bytes;
        stranger.account.bytes += held.bytes;
        stranger.account.calls.push_back(std::move(held));
    } else {
        refuseLater(stranger.account, held.call, limitsExceeded, floodOfStrangers);
    }
    if (isNew && isKnown)
        lookUpLogin(name); // may call back immediately
}

// Returns whether the pool of strangers has room for another call of an account. Every account may
// have as much as any other.
bool Intake::makeRoom(const Account& newcomer, std::size_t bytes) {
    const auto callsOf = [](const Account& account) { return account.calls.size(); };
    const auto bytesOf = [](const Account& account) { return account.bytes; };
    while (callsOfStrangers_ >= caps::callsOfStrangers) {
        if (!takeFromLargest(callsOf, newcomer.calls.size() + 1))
            return false;
    }
    while (bytesOfStrangers_ + bytes > caps::bytesOfStrangers) {
        if (!takeFromLargest(bytesOf, newcomer.bytes + bytes))
            return false;
    }
    return true;
}

// Refuses the last call of the largest account, unless the newcomer would be as large.
template <typename Size>
bool Intake::takeFromLargest(Size sizeOf, std::size_t newcomer) {
    const auto largest = std::ranges::max_element(
        strangers_, {}, [&](const auto& entry) { return sizeOf(entry.second.account); });
    Account& account = largest->second.account;
    if (sizeOf(account) <= newcomer)
        return false;
    const Held last = std::move(account.calls.back());
    account.calls.pop_back();
    account.bytes -= last.bytes;
    --callsOfStrangers_;
    bytesOfStrangers_ -= last.bytes;
    refuseLater(account, last.call, limitsExceeded, floodOfStrangers);
    return true;
}

bool Intake::ask(Stranger& stranger, const std::string& name) {
    const auto onCredentials = [this, &stranger, name](const auto& credentials, bool isLate) {
        if (!isLate || !ask(stranger, name))
            learn(name, credentials);
    };
    try {
        stranger.question = questions_.askFor(name, questionTimeout, onCredentials);
        return true;
    } catch (const sdbus::Error&) {
        return false;
    }
}

void Intake::learn(const std::string& name, const std::optional<raw::Credentials>& credentials) {
    try {
        const core::Uid uid = callers_.learn(name, credentials);
        const auto& calls = strangers_.at(name).account.calls;
        if (std::ranges::any_of(calls, [this](const Held& held) { return needsLogin(held); }))
            lookUpLogin(name);
        else
            admit(name, uid);
    } catch (const core::Error& error) {
        const auto node = strangers_.extract(name);
        const Account& account = node.mapped().account;
        forget(account);
        for (const Held& held : account.calls)
            held.call.refuse(contract::error::accessDenied, error.what());
        for (const raw::Message& refusal : account.refusals)
            refusal.send();
    }
}

// If the process cannot be read, its login user counts as unknown. Its calls wait for this read no
// longer than for any other read of /proc.
void Intake::lookUpLogin(const std::string& name) {
    const auto take = [this, alive = alive_, name](const auto& login) {
        if (!*alive || !strangers_.contains(name))
            return; // it has disconnected
        try {
            callers_.learnLogin(name, login.get());
        } catch (const core::Error&) {
            callers_.learnLogin(name, std::nullopt);
        }
        admit(name, 0);
    };
    processes_.loginUser(callers_.pidToLookUp(name).value_or(0), 0, take);
}

void Intake::admit(const std::string& name, core::Uid uid) {
    auto node = strangers_.extract(name);
    Account& account = node.mapped().account;
    forget(account);
    for (Held& held : account.calls)
        takeOfUser(uid, std::move(held));
    if (!account.refusals.empty())
        std::move(account.refusals.begin(), account.refusals.end(),
                  std::back_inserter(accountOf(uid).refusals));
}

void Intake::forget(const Account& stranger) {
    callsOfStrangers_ -= stranger.calls.size();
    bytesOfStrangers_ -= stranger.bytes;
}

// Returns the account of a user. Other users' accounts are removed if they have no pending calls
// and the full burst allowance.
Intake::Account& Intake::accountOf(core::Uid uid) {
    const auto [user, isNew] = users_.try_emplace(uid);
    if (isNew) {
        const core::BootTime rested = clock_.bootNow() - maxSaved;
        std::erase_if(users_, [&](const auto& other) {
            return other.first != uid && other.second.isEmpty() && other.second.mayGoOn <= rested;
        });
    }
    return user->second;
}

void Intake::takeOfUser(core::Uid uid, Held held) {
    Account& account = accountOf(uid);
    if (uid != 0 && held.bytes > caps::bytesPerUsersCall) {
        refuseLater(account, held.call, contract::error::invalidArgs,
                    tooLarge(caps::bytesPerUsersCall));
        return;
    }
    if (uid == 0 || account.calls.empty() ||
        (account.calls.size() < caps::callsPerUser &&
         account.bytes + held.bytes <= caps::bytesPerCall)) {
        account.bytes += held.bytes;
        account.calls.push_back(std::move(held));
        return;
    }
    logFlood(uid);
    refuseLater(account, held.call, limitsExceeded,
                fmt::format("{} of your calls wait to be begun already; wait until some are "
                            "answered",
                            account.calls.size()));
}

// Stores the error reply and not the call itself, which may be large.
void Intake::refuseLater(Account& account, const raw::Message& call, const char* error,
                         const std::string& text) {
    if (call.expectsReply())
        account.refusals.push_back(call.refusal(error, text));
}

void Intake::logFlood(core::Uid uid) {
    const core::BootTime now = clock_.bootNow();
    std::erase_if(loggedFloods_, [&](const auto& entry) { return entry.second + floodNews < now; });
    if (loggedFloods_.emplace(uid, now).second)
        log_.notice("uid {} makes more calls than genvd can serve; refusing the excess, and "
                    "serving other users in turn",
                    uid);
}

std::optional<core::BootTime::duration> Intake::untilNext() const {
    if (served_ || bus_.unsent() != 0U)
        return std::nullopt;
    std::optional<core::BootTime> next;
    for (const auto& [uid, account] : users_) {
        if (!account.isEmpty())
            next = std::min(next.value_or(account.mayGoOn), account.mayGoOn);
    }
    if (!next)
        return std::nullopt;
    return std::max(*next - clock_.bootNow(), core::BootTime::duration::zero());
}

void Intake::serveNext() {
    if (untilNext() != core::BootTime::duration::zero())
        return;
    processes_.noticeExits();
    const auto user = next();
    if (user == users_.end())
        return;
    auto& [uid, account] = *user;
    lastServed_ = uid;
    if (uid != 0)
        account.mayGoOn = std::max(account.mayGoOn, clock_.bootNow() - maxSaved) + pause;
    serve(account);
}

// Returns the user whose call or refusal is next.
Intake::Users::iterator Intake::next() {
    const auto isReady = [now = clock_.bootNow()](const auto& user) {
        return !user.second.isEmpty() && user.second.mayGoOn <= now;
    };
    const auto addCalls = [](std::size_t sum, const auto& user) {
        return sum + user.second.calls.size();
    };
    if (std::accumulate(users_.begin(), users_.end(), std::size_t{0}, addCalls) <= callsInOrder) {
        const auto first = [&](const auto& user) { // users without a call to start come last
            return !isReady(user) || user.second.calls.empty() ? UINT64_MAX
                                                               : user.second.calls.front().number;
        };
        const auto oldest =
            std::min_element(users_.begin(), users_.end(),
                             [&](const auto& a, const auto& b) { return first(a) < first(b); });
        if (oldest != users_.end() && first(*oldest) != UINT64_MAX)
            return oldest;
    }
    const auto turn = std::find_if(users_.upper_bound(lastServed_), users_.end(), isReady);
    return turn != users_.end() ? turn : std::find_if(users_.begin(), users_.end(), isReady);
}

void Intake::serve(Account& account) {
    for (int i = 0; i < refusalsPerTurn && !account.refusals.empty(); ++i) {
        account.refusals.front().send();
        account.refusals.pop_front();
    }
    if (account.calls.empty())
        return;
    Held next = std::move(account.calls.front());
    account.calls.pop_front();
    account.bytes -= next.bytes;
    if (bus_.enqueue(next.call))
        served_ = std::move(next.call);
}

void Intake::onDisconnected(const std::string& busName) {
    if (const auto stranger = strangers_.extract(busName))
        forget(stranger.mapped().account);
    for (auto& [uid, account] : users_) {
        std::erase_if(account.calls, [&, &bytes = account.bytes](const Held& held) {
            const bool isGone = held.sender == busName;
            bytes -= isGone ? held.bytes : 0;
            return isGone;
        });
        std::erase_if(account.refusals, [&](const raw::Message& refusal) {
            return refusal.destination() == busName;
        });
    }
}

} // namespace genv::dbus
