// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/intake.hpp"

#include "core/caps.hpp"
#include "core/error.hpp"
#include "dbus/call_size.hpp"
#include "dbus/contract/names.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <iterator>
#include <numeric>
#include <optional>
#include <utility>

namespace genv::dbus {

namespace {

namespace caps = core::caps;

// The bus hands a service's messages on in the order in which they were sent, so what is not sent
// yet may still be overtaken by an answer for somebody else. The kernel keeps this much that the
// bus has not read; sd-bus would have 8 MiB.
constexpr int bytesUnread = 32 << 10;

// While at most this many calls wait, they are begun in the order in which they came.
constexpr std::size_t callsInOrder = 16;

// Refusals wait for their user's turn as calls do, and so many go out along with a call.
constexpr int refusalsPerTurn = 2;

// A user may save up this much of the time between calls, for many at once.
constexpr core::BootTime::duration pause =
    core::BootTime::duration{std::chrono::seconds{1}} / caps::callsPerUserEachSecond;
static_assert(pause.count() > 0);
constexpr core::BootTime::duration mostSaved = caps::callsPerUser * pause;

// dbus-daemon drops its own answers, too, while it has 127 MiB that the service has not read. The
// service then asks again after this time.
constexpr std::uint64_t longestQuestion = 1'000'000; // microseconds

// A user's flood is written to the log at most this often.
constexpr std::chrono::minutes floodNews{1};

// The bus has one of these names, and sd-bus uses the other one to say that the bus is gone. Nobody
// else can have them.
bool isOfTheBus(const char* sender) {
    return sender != nullptr && (std::strcmp(sender, contract::busDriver) == 0 ||
                                 std::strcmp(sender, "org.freedesktop.DBus.Local") == 0);
}

// A failure means that the bus is gone, which the next read tells.
void refuse(sd_bus_message* call, const char* error, const std::string& text) {
    static_cast<void>(sd_bus_reply_method_errorf(call, error, "%s", text.c_str()));
}

} // namespace

Intake::Intake(sdbus::IConnection& connection, Callers& callers, const core::Clock& clock,
               core::Log& log)
    : callers_(callers), clock_(clock), log_(log), bus_(busOf(connection)) {
    sd_bus_slot* slot = nullptr;
    require(sd_bus_add_filter(bus_, &slot, onMessage, this), "cannot filter messages of the bus");
    slot_.reset(slot);
    ::setsockopt(sd_bus_get_fd(bus_), SOL_SOCKET, SO_SNDBUF, &bytesUnread, sizeof(bytesUnread));
}

Intake::~Intake() = default;

// sd-bus calls this, and nothing may be thrown through it.
int Intake::onMessage(sd_bus_message* message, void* self, sd_bus_error* /*error*/) {
    auto& intake = *static_cast<Intake*>(self);
    try {
        intake.tookLast_ = intake.take(message);
        return intake.tookLast_ ? 1 : 0;
    } catch (const std::exception&) {
        return -ENOMEM; // the caller is told so
    }
}

bool Intake::take(sd_bus_message* message) {
    const char* sender = sd_bus_message_get_sender(message);
    std::uint8_t type = 0;
    sd_bus_message_get_type(message, &type);
    if (type == SD_BUS_MESSAGE_SIGNAL)
        return !isOfTheBus(sender); // genvd listens to nobody else
    if (type != SD_BUS_MESSAGE_METHOD_CALL)
        return false;
    if (message == served_) {
        served_ = nullptr;
        return false;
    }
    const CallSize size = measure(message);
    if (size.isTooLarge) {
        refuse(message, contract::error::invalidArgs,
               fmt::format("the arguments are too large; a call takes at most {} values and {} "
                           "bytes",
                           caps::valuesPerCall, caps::bytesPerCall));
        return true;
    }
    if (sender == nullptr) {
        refuse(message, contract::error::accessDenied, "nobody sent this call");
        return true;
    }
    Held held{OwnedMessage(sd_bus_message_ref(message)), sender, size.bytes, ++lastNumber_};
    if (const std::optional<core::Uid> uid = callers_.known(sender))
        takeOfUser(*uid, std::move(held));
    else
        takeOfStranger(std::move(held));
    return true;
}

// This never waits for the bus: the answer of the bus comes after everything that it handed over
// before, and that would be read into memory meanwhile.
void Intake::takeOfStranger(Held held) {
    const auto [found, isNew] = strangers_.try_emplace(held.sender);
    Stranger& stranger = found->second;
    if (isNew) {
        stranger.intake = this;
        stranger.name = held.sender;
        if (!ask(stranger)) {
            strangers_.erase(found);
            refuse(held.call.get(), contract::error::accessDenied,
                   "the bus cannot be asked who sent this call");
            return;
        }
    }
    if (callsOfStrangers_ >= caps::callsOfStrangers ||
        bytesOfStrangers_ + held.bytes > caps::bytesOfStrangers) {
        refuseLater(stranger.account, held.call.get(),
                    "too much comes from connections that are new; try again in a moment");
        return;
    }
    ++callsOfStrangers_;
    bytesOfStrangers_ += held.bytes;
    stranger.account.calls.push_back(std::move(held));
}

bool Intake::ask(Stranger& stranger) {
    sd_bus_message* raw = nullptr;
    if (sd_bus_message_new_method_call(bus_, &raw, contract::busDriver, contract::busDriverPath,
                                       contract::busDriver, "GetConnectionCredentials") < 0)
        return false;
    const OwnedMessage question(raw);
    sd_bus_slot* slot = nullptr;
    if (sd_bus_message_append_basic(raw, 's', stranger.name.c_str()) < 0 ||
        sd_bus_call_async(bus_, &slot, raw, onCredentials, &stranger, longestQuestion) < 0)
        return false;
    stranger.question.reset(slot);
    return true;
}

int Intake::onCredentials(sd_bus_message* answer, void* stranger, sd_bus_error* /*error*/) {
    auto& asked = *static_cast<Stranger*>(stranger);
    try {
        if (sd_bus_message_is_method_error(answer, SD_BUS_ERROR_NO_REPLY) == 0 ||
            !asked.intake->ask(asked))
            asked.intake->learn(std::string(asked.name), answer);
    } catch (const std::exception&) {
        return -ENOMEM;
    }
    return 0;
}

void Intake::learn(const std::string& name, sd_bus_message* credentials) {
    auto node = strangers_.extract(name); // its slot lives until this returns
    Account& account = node.mapped().account;
    forget(account);
    try {
        const core::Uid uid = callers_.learn(name, credentials);
        for (Held& held : account.calls)
            takeOfUser(uid, std::move(held));
        if (!account.refusals.empty())
            std::move(account.refusals.begin(), account.refusals.end(),
                      std::back_inserter(accountOf(uid).refusals));
    } catch (const core::Error& error) {
        for (const Held& held : account.calls)
            refuse(held.call.get(), contract::error::accessDenied, error.what());
        for (const OwnedMessage& refusal : account.refusals)
            static_cast<void>(sd_bus_send(bus_, refusal.get(), nullptr));
    }
}

void Intake::forget(const Account& stranger) {
    callsOfStrangers_ -= stranger.calls.size();
    for (const Held& held : stranger.calls)
        bytesOfStrangers_ -= held.bytes;
}

// A user who has nothing here, and may call as often as anybody, needs no account.
Intake::Account& Intake::accountOf(core::Uid uid) {
    const auto [user, isNew] = users_.try_emplace(uid);
    if (isNew) {
        const core::BootTime rested = clock_.bootNow() - mostSaved;
        std::erase_if(users_, [&](const auto& other) {
            return other.first != uid && other.second.isEmpty() && other.second.mayGoOn <= rested;
        });
    }
    return user->second;
}

void Intake::takeOfUser(core::Uid uid, Held held) {
    Account& account = accountOf(uid);
    if (uid == 0 || account.calls.empty() ||
        (account.calls.size() < caps::callsPerUser &&
         account.bytes + held.bytes <= caps::bytesPerCall)) {
        account.bytes += held.bytes;
        account.calls.push_back(std::move(held));
        return;
    }
    tellOfFlood(uid);
    refuseLater(account, held.call.get(),
                fmt::format("{} of your calls wait to be begun already; wait until some are "
                            "answered",
                            account.calls.size()));
}

// The service keeps the answer and not the call itself, which may be large.
void Intake::refuseLater(Account& account, sd_bus_message* call, const std::string& text) {
    if (sd_bus_message_get_expect_reply(call) <= 0)
        return;
    const sd_bus_error refusal{contract::error::limitsExceeded, text.c_str(), 0};
    sd_bus_message* answer = nullptr;
    require(sd_bus_message_new_method_error(call, &answer, &refusal));
    account.refusals.emplace_back(answer);
}

void Intake::tellOfFlood(core::Uid uid) {
    const core::BootTime now = clock_.bootNow();
    std::erase_if(toldOf_, [&](const auto& entry) { return entry.second + floodNews < now; });
    if (toldOf_.emplace(uid, now).second)
        log_.notice("uid {} calls faster than it can be served; what is too much is refused, and "
                    "others are served in turn",
                    uid);
}

std::optional<core::BootTime::duration> Intake::untilNext() const {
    std::uint64_t unsent = 0;
    if (served_ != nullptr || sd_bus_get_n_queued_write(bus_, &unsent) < 0 || unsent > 0)
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
    const auto user = next();
    if (user == users_.end())
        return;
    auto& [uid, account] = *user;
    lastServed_ = uid;
    if (uid != 0)
        account.mayGoOn = std::max(account.mayGoOn, clock_.bootNow() - mostSaved) + pause;
    serve(account);
}

// This is the user whose call or refusal comes next.
Intake::Users::iterator Intake::next() {
    const auto isReady = [now = clock_.bootNow()](const auto& user) {
        return !user.second.isEmpty() && user.second.mayGoOn <= now;
    };
    const auto addCalls = [](std::size_t sum, const auto& user) {
        return sum + user.second.calls.size();
    };
    if (std::accumulate(users_.begin(), users_.end(), std::size_t{0}, addCalls) <= callsInOrder) {
        const auto first = [&](const auto& user) { // users without a call come last
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
        static_cast<void>(sd_bus_send(bus_, account.refusals.front().get(), nullptr));
        account.refusals.pop_front();
    }
    if (account.calls.empty())
        return;
    const Held next = std::move(account.calls.front());
    account.calls.pop_front();
    account.bytes -= next.bytes;
    if (sd_bus_enqueue_for_read(bus_, next.call.get()) >= 0)
        served_ = next.call.get();
}

void Intake::left(const std::string& busName) {
    if (const auto stranger = strangers_.extract(busName))
        forget(stranger.mapped().account);
    for (auto& [uid, account] : users_) {
        std::erase_if(account.calls, [&, &bytes = account.bytes](const Held& held) {
            const bool isGone = held.sender == busName;
            bytes -= isGone ? held.bytes : 0;
            return isGone;
        });
        std::erase_if(account.refusals, [&](const OwnedMessage& refusal) {
            return sd_bus_message_get_destination(refusal.get()) == busName;
        });
    }
}

} // namespace genv::dbus
