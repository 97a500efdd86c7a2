// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/daemon/user_lingering.hpp"

#include "client/descriptor_functions.hpp"
#include "client/jobs/daemon/variants.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace genv::jobs {

namespace {

using namespace std::chrono_literals;

constexpr const char* logind = "org.freedesktop.login1";
constexpr const char* logindPath = "/org/freedesktop/login1";
constexpr const char* logindInterface = "org.freedesktop.login1.Manager";
constexpr auto timeout = 5s;
constexpr auto lasts = 10s;

} // namespace

UserLingering::UserLingering(const event::LoopBus& bus, uid_t uid, std::filesystem::path mark)
    : bus_(bus), uid_(uid), mark_(std::move(mark)) {}

void UserLingering::ensure(Handler handler) {
    isNeeded_ = true;
    if (Clock::now() < knownUntil_) {
        handler(known_);
        return;
    }
    sdbus::MethodCall call = bus_.call(logind, fmt::format("{}/user/_{}", logindPath, uid_),
                                       "org.freedesktop.DBus.Properties", "GetAll");
    call << "org.freedesktop.login1.User";
    bus_.send(call, timeout, [this, handler = std::move(handler)](const event::BusReply& reply) {
        onUser(reply, handler);
    });
}

void UserLingering::onUser(const event::BusReply& reply, const Handler& handler) {
    // Whatever the state is: it may be "opening" just after a login, or "closing".
    if (!reply.isError()) {
        dbus::raw::Reader reader(reply.message());
        if (ReadVariants(reader).number("Linger") == 0) {
            enable(handler);
            return;
        }
    }
    remember(Note::None);
    handler(Note::None);
}

// The mark comes first: after a crash, a mark too many only takes back what nobody else asked for.
void UserLingering::enable(const Handler& handler) {
    const client::Descriptor mark(
        ::open(mark_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!mark.isOpen()) {
        std::fprintf(stderr, "genv-jobs: jobs end at the logout: %s\n", std::strerror(errno));
        handler(Note::Refused);
        return;
    }
    isEnabling_ = true;
    bus_.send(setLinger(true), timeout, [this, handler](const event::BusReply& reply) {
        isEnabling_ = false;
        const bool isRefused = reply.isError();
        if (isRefused) {
            ::unlink(mark_.c_str());
            std::fprintf(stderr, "genv-jobs: jobs end at the logout: %s\n",
                         reply.errorText().c_str());
        }
        remember(isRefused ? Note::Refused : Note::None);
        handler(isRefused ? Note::Refused : Note::Enabled);
        if (!isNeeded_)
            release();
    });
}

void UserLingering::release() {
    isNeeded_ = false;
    if (isEnabling_ || ::access(mark_.c_str(), F_OK) != 0 || std::exchange(isReleasing_, true))
        return;
    knownUntil_ = {};
    bus_.send(setLinger(false), timeout,
              [this](const event::BusReply& reply) { onReleased(reply); });
}

// A job that was submitted meanwhile needs it again.
void UserLingering::onReleased(const event::BusReply& reply) {
    isReleasing_ = false;
    knownUntil_ = {};
    if (reply.isError())
        std::fprintf(stderr, "genv-jobs: cannot disable lingering: %s\n",
                     reply.errorText().c_str());
    else
        ::unlink(mark_.c_str());
    if (isNeeded_)
        ensure([](Note) {});
}

void UserLingering::remember(Note note) {
    known_ = note;
    knownUntil_ = Clock::now() + lasts;
}

sdbus::MethodCall UserLingering::setLinger(bool lingers) const {
    sdbus::MethodCall call = bus_.call(logind, logindPath, logindInterface, "SetUserLinger");
    constexpr bool allowsInteraction = false;
    call << static_cast<std::uint32_t>(uid_) << lingers << allowsInteraction;
    return call;
}

} // namespace genv::jobs
