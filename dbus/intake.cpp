// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/intake.hpp"

#include "core/caps.hpp"
#include "core/error.hpp"
#include "dbus/contract/names.hpp"

#include <fmt/format.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <cstring>
#include <iterator>
#include <optional>
#include <utility>

namespace genv::dbus {

namespace {

// How much passes unasked once the service is busy. Below, calls are served before anybody could
// feel that there is a line.
constexpr std::size_t mostUnasked = 32;
constexpr std::chrono::milliseconds longestUnasked{20};

// What the bus may have left unread when the next call of a line is served.
constexpr int mostUntaken = 16 << 10; // bytes, as the kernel counts them

// Refusals wait in line as well, since dbus-daemon reads from a service only so much at a time: an
// answer for somebody else would come after thousands of them. The bus bounds how many calls of a
// user expect an answer; what exceeds this is refused at once.
constexpr std::size_t mostExcess = 65'536;
constexpr int refusedPerTurn = 8;

// How often a user's flood is written to the log at most.
constexpr std::chrono::minutes floodNews{1};

struct Size {
    std::size_t values = 0;
    std::size_t bytes = 0; ///< of the values, about
};

enum class Measured { Whole, TooMuch, Malformed };

Measured measure(sd_bus_message* message, Size& size);

Measured measureArray(sd_bus_message* message, char type, Size& size) {
    const void* values = nullptr;
    std::size_t bytes = 0;
    if (sd_bus_message_read_array(message, type, &values, &bytes) < 0)
        return Measured::Malformed;
    constexpr std::size_t widest = 8;
    size.bytes += bytes;
    size.values += bytes / (std::strchr("xtd", type) != nullptr  ? widest
                            : std::strchr("iu", type) != nullptr ? widest / 2
                                                                 : 1);
    return Measured::Whole;
}

Measured measureContainer(sd_bus_message* message, char type, const char* contents, Size& size) {
    if (sd_bus_message_enter_container(message, type, contents) < 0)
        return Measured::Malformed;
    const Measured inside = measure(message, size);
    if (inside != Measured::Whole)
        return inside;
    return sd_bus_message_exit_container(message) < 0 ? Measured::Malformed : Measured::Whole;
}

Measured measureOne(sd_bus_message* message, char type, const char* contents, Size& size) {
    if (contents != nullptr) {
        // Arrays of numbers are not walked through.
        if (type == SD_BUS_TYPE_ARRAY && contents[1] == '\0' &&
            std::strchr("ynqiuxtd", contents[0]) != nullptr)
            return measureArray(message, contents[0], size);
        return measureContainer(message, type, contents, size);
    }
    union {
        const char* text;
        std::uint64_t number;
    } value{};
    if (sd_bus_message_read_basic(message, type, &value) < 0)
        return Measured::Malformed;
    const bool isText = std::strchr("sog", type) != nullptr;
    size.bytes += isText ? std::strlen(value.text) + 1 : sizeof(value.number);
    return Measured::Whole;
}

// Stops as soon as it is too much, so that measuring is cheap whatever is sent.
Measured measure(sd_bus_message* message, Size& size) {
    for (;;) {
        char type = 0;
        const char* contents = nullptr;
        const int more = sd_bus_message_peek_type(message, &type, &contents);
        if (more <= 0)
            return more == 0 ? Measured::Whole : Measured::Malformed;
        ++size.values;
        const Measured one = measureOne(message, type, contents, size);
        if (size.values > core::caps::valuesPerCall || size.bytes > core::caps::bytesPerCall)
            return Measured::TooMuch;
        if (one != Measured::Whole)
            return one;
    }
}

} // namespace

Intake::Intake(sdbus::IConnection& connection, Callers& callers, const core::Clock& clock,
               core::Log& log)
    : callers_(callers), clock_(clock), log_(log), bus_(busOf(connection)) {
    sd_bus_slot* slot = nullptr;
    const int result = sd_bus_add_filter(bus_, &slot, onMessage, this);
    if (result < 0)
        throw sdbus::createError(-result, "messages cannot be looked at as they come in");
    slot_.reset(slot);
}

Intake::~Intake() = default;

// Called by sd-bus, through which nothing may be thrown.
int Intake::onMessage(sd_bus_message* message, void* self, sd_bus_error* /*error*/) {
    auto& intake = *static_cast<Intake*>(self);
    try {
        intake.keptLast_ = intake.keep(message);
        return intake.keptLast_ ? 1 : 0;
    } catch (const std::exception&) {
        return -ENOMEM; // the caller is told so
    }
}

bool Intake::keep(sd_bus_message* message) {
    std::uint8_t type = 0;
    sd_bus_message_get_type(message, &type);
    if (type != SD_BUS_MESSAGE_METHOD_CALL || going_.erase(message) > 0)
        return false;
    Size size;
    const Measured measured = measure(message, size);
    sd_bus_message_rewind(message, 1);
    if (measured == Measured::TooMuch)
        return refuse(message, contract::error::invalidArgs,
                      fmt::format("the arguments are too large; a call takes at most {} values "
                                  "and {} bytes",
                                  core::caps::valuesPerCall, core::caps::bytesPerCall));
    if (lines_.empty() && strangers_.empty() && isInTime())
        return false;
    const char* sender = sd_bus_message_get_sender(message);
    if (sender == nullptr)
        return refuse(message, contract::error::accessDenied, "nobody sent this call");
    const std::optional<core::Uid> uid = callers_.known(sender);
    if (!uid)
        return ask(message, sender, size.bytes);
    if (*uid == 0)
        return false;
    join(message, *uid, size.bytes);
    return true;
}

// Never waits for the bus: under a flood its answer comes after much else.
bool Intake::ask(sd_bus_message* message, const std::string& sender, std::size_t size) {
    const auto [found, isNew] = strangers_.try_emplace(sender);
    Stranger& stranger = found->second;
    if (isNew) {
        stranger.intake = this;
        stranger.name = sender;
        sd_bus_slot* slot = nullptr;
        if (sd_bus_call_method_async(bus_, &slot, contract::busDriver, contract::busDriverPath,
                                     contract::busDriver, "GetConnectionCredentials", onCredentials,
                                     &stranger, "s", sender.c_str()) < 0) {
            strangers_.erase(found);
            return refuse(message, contract::error::accessDenied,
                          "the bus cannot be asked who sent this call");
        }
        stranger.question.reset(slot);
    }
    if (!add(stranger.line, message, size))
        refuseExcess(message);
    return true;
}

int Intake::onCredentials(sd_bus_message* answer, void* stranger, sd_bus_error* /*error*/) {
    const auto& asked = *static_cast<Stranger*>(stranger);
    try {
        asked.intake->learn(std::string(asked.name), answer);
    } catch (const std::exception&) {
        return -ENOMEM;
    }
    return 0;
}

void Intake::learn(const std::string& name, sd_bus_message* credentials) {
    // Its slot lives until this returns.
    const auto node = strangers_.extract(name);
    const Line& line = node.mapped().line;
    std::optional<core::Uid> uid;
    std::string why;
    try {
        uid = callers_.learn(name, credentials);
    } catch (const core::Error& error) {
        why = error.what();
    }
    for (const Held& held : line.calls) {
        if (!uid)
            refuse(held.message.get(), contract::error::accessDenied, why);
        else
            join(held.message.get(), *uid, held.size);
    }
}

bool Intake::isInTime() {
    const core::BootTime now = clock_.bootNow();
    if (passed_ == 0)
        windowEnd_ = now + longestUnasked;
    if (passed_ >= mostUnasked || now > windowEnd_)
        return false;
    ++passed_;
    return true;
}

void Intake::join(sd_bus_message* message, core::Uid uid, std::size_t size) {
    Line& line = lines_[uid];
    if (add(line, message, size))
        return;
    tellOfFlood(uid);
    if (sd_bus_message_get_expect_reply(message) <= 0)
        return;
    if (line.excess.size() < mostExcess)
        line.excess.emplace_back(sd_bus_message_ref(message));
    else
        refuseExcess(message);
}

// False when the line is full.
bool Intake::add(Line& line, sd_bus_message* message, std::size_t size) {
    if (line.calls.size() >= core::caps::callsPerUser ||
        (!line.calls.empty() && line.size + size > core::caps::bytesPerCall))
        return false;
    line.calls.push_back(
        {OwnedMessage(sd_bus_message_ref(message)), sd_bus_message_get_sender(message), size});
    line.size += size;
    return true;
}

void Intake::refuseExcess(sd_bus_message* message) {
    refuse(message, contract::error::limitsExceeded,
           fmt::format("{} of your calls wait to be begun already; wait until some are answered",
                       core::caps::callsPerUser));
}

bool Intake::refuse(sd_bus_message* message, const char* error, const std::string& text) {
    // A failure means that the bus is gone, which the next read tells.
    static_cast<void>(sd_bus_reply_method_errorf(message, error, "%s", text.c_str()));
    return true;
}

void Intake::tellOfFlood(core::Uid uid) {
    const core::BootTime now = clock_.bootNow();
    std::erase_if(toldOf_, [&](const auto& entry) { return entry.second + floodNews < now; });
    if (toldOf_.emplace(uid, now).second)
        log_.notice("uid {} calls faster than it can be served; what is too much is refused, and "
                    "others are served in turn",
                    uid);
}

bool Intake::isBusFree() const {
    std::uint64_t messages = 0;
    int bytes = 0;
    return sd_bus_get_n_queued_write(bus_, &messages) >= 0 && messages == 0 &&
           (::ioctl(sd_bus_get_fd(bus_), SIOCOUTQ, &bytes) < 0 || bytes < mostUntaken);
}

void Intake::serveNext() {
    if (lines_.empty() || !isBusFree())
        return;
    auto turn = lines_.upper_bound(lastServed_);
    if (turn == lines_.end())
        turn = lines_.begin();
    lastServed_ = turn->first;
    Line& line = turn->second;
    for (int i = 0; i < refusedPerTurn && !line.excess.empty(); ++i) {
        refuseExcess(line.excess.front().get());
        line.excess.pop_front();
    }
    if (!line.calls.empty()) {
        const Held next = std::move(line.calls.front());
        line.calls.pop_front();
        line.size -= next.size;
        goOn(next.message.get());
    }
    if (line.calls.empty() && line.excess.empty())
        lines_.erase(turn);
}

void Intake::goOn(sd_bus_message* message) {
    going_.insert(message);
    if (sd_bus_enqueue_for_read(bus_, message) < 0) {
        going_.erase(message);
        refuse(message, contract::error::limitsExceeded,
               "too many messages wait to be read; try again in a moment");
    }
}

void Intake::left(const std::string& busName) {
    strangers_.erase(busName);
    for (auto line = lines_.begin(); line != lines_.end();) {
        auto& [calls, size, excess] = line->second;
        std::erase_if(calls, [&, &size = size](const Held& held) {
            const bool gone = held.sender == busName;
            size -= gone ? held.size : 0;
            return gone;
        });
        std::erase_if(excess, [&](const OwnedMessage& message) {
            return sd_bus_message_get_sender(message.get()) == busName;
        });
        line = calls.empty() && excess.empty() ? lines_.erase(line) : std::next(line);
    }
}

} // namespace genv::dbus
