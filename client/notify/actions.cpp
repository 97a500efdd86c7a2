// SPDX-License-Identifier: LGPL-2.1-or-later
// The actions of a notification's buttons. Each uses its own connection; meanwhile, notices wait on
// the other connection.
#include "client/descriptor_functions.hpp"
#include "client/notify/notice_subscription.hpp"
#include "core/base/text.hpp"
#include "core/sentences/sentences.hpp"
#include "genv/client.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

namespace genv::notify {

namespace {

using namespace std::chrono_literals;

// The service replies within its timeout for polkit. It takes longer only if it hangs.
constexpr auto timeout = 15s;
constexpr auto extension = 1h;
constexpr std::size_t maxTextLength = 512;

/// Readable when the time is over or a signal to end is pending. The signal stays pending.
class GivingUp {
  public:
    GivingUp()
        : timer_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)), signals_(makeSignals()),
          both_(epoll_create1(EPOLL_CLOEXEC)) {
        itimerspec time{};
        time.it_value.tv_sec = timeout.count();
        timerfd_settime(timer_.get(), 0, &time, nullptr);
        for (const int descriptor : {timer_.get(), signals_.get()}) {
            epoll_event event{};
            event.events = EPOLLIN;
            epoll_ctl(both_.get(), EPOLL_CTL_ADD, descriptor, &event);
        }
    }
    [[nodiscard]] int descriptor() const { return both_.get(); }

  private:
    static int makeSignals() {
        sigset_t signals;
        sigemptyset(&signals);
        for (const int signal : {SIGTERM, SIGINT, SIGHUP})
            sigaddset(&signals, signal);
        return signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    }

    client::Descriptor timer_;
    client::Descriptor signals_;
    client::Descriptor both_;
};

std::string hintFor(const Error& error) {
    const std::string& name = error.name();
    if (name == "dev.genv.Error.QuotaExceeded")
        return "\"genvctl limits\" shows your limits.";
    if (name == "dev.genv.Error.DeviceUnavailable" || name == "dev.genv.Error.NotEnoughDevices")
        return "\"genv attach --wait\" waits in the queue.";
    if (name == "dev.genv.Error.NoSuchEnvironment")
        return "\"genv activate\" starts another.";
    if (name == "org.freedesktop.DBus.Error.InteractiveAuthorizationRequired" ||
        name == "org.freedesktop.DBus.Error.AccessDenied")
        return "In a terminal, genvctl can ask for an administrator's password.";
    return {};
}

std::string sentenceOf(const Error& error) {
    std::string text = core::escaped(error.what(), maxTextLength);
    if (!text.empty() && text.back() != '.')
        text += '.';
    return text;
}

DesktopNotification failure(std::string title, const std::string& sentence, std::string hint) {
    return {{}, Urgency::Normal, "device.error", std::move(title), {sentence}, std::move(hint), {}};
}

// A message may have been displayed for a long time, and its id may now belong to another user. As
// root, this action could change that user's environment.
void requireOwn(Client& client, const std::string& environment) {
    if (client.environment(environment).uid != client.uid())
        throw Error("dev.genv.Error.NoSuchEnvironment",
                    fmt::format("environment {} has ended", environment));
}

constexpr const char* noAnswer =
    "The service did not answer in time. The change may still take effect.";

DesktopNotification extend(const NotificationAction& action) {
    const std::string title = "The lease could not be extended";
    try {
        Client client;
        requireOwn(client, action.environment);
        const GivingUp givingUp;
        const auto remaining =
            action.leaseEnd - std::chrono::time_point_cast<core::WallTime::duration>(
                                  std::chrono::system_clock::now());
        const auto lifetime = std::chrono::ceil<std::chrono::seconds>(
                                  std::max<core::WallTime::duration>(remaining, 0s)) +
                              extension;
        if (!client.extend(action.environment, lifetime,
                           Waiting().setStopDescriptor(givingUp.descriptor())))
            return failure(title, noAnswer, {});
        const auto expires = client.environment(action.environment).expires;
        return {{},
                Urgency::Low,
                "x-genv.lease.extended",
                "The lease was extended",
                {fmt::format("Environment {}: the lease now ends at {}.",
                             core::escaped(action.environment),
                             expires ? core::nameTime(*expires) : "an unknown time")},
                {},
                {}};
    } catch (const Error& error) {
        return failure(title, sentenceOf(error), hintFor(error));
    }
}

DesktopNotification attachAgain(const NotificationAction& action) {
    std::vector<core::DeviceIndex> attached;
    core::DeviceIndex current = 0;
    DesktopNotification message;
    try {
        Client client;
        requireOwn(client, action.environment);
        const GivingUp givingUp;
        for (const NamedDevice& device : action.devices) {
            current = device.index;
            if (!client.attach(action.environment, AttachOptions().setUuids({device.uuid}),
                               Waiting().setStopDescriptor(givingUp.descriptor())))
                throw Error("org.freedesktop.DBus.Error.Timeout", noAnswer);
            attached.push_back(device.index);
        }
        message = {{},
                   Urgency::Low,
                   "device.added",
                   fmt::format("{} {} attached again", core::nameGpus(attached),
                               attached.size() == 1 ? "is" : "are"),
                   {},
                   {},
                   {}};
    } catch (const Error& error) {
        message = failure(fmt::format("GPU {} could not be attached", current), sentenceOf(error),
                          hintFor(error));
    }
    if (!attached.empty())
        message.sentences.push_back(
            fmt::format("Environment {}: {} {} attached again.", core::escaped(action.environment),
                        core::nameGpus(attached), attached.size() == 1 ? "is" : "are"));
    return message;
}

// If the memory takes longer to move than this waits, the environment resumes nevertheless, and the
// service's notice says so.
DesktopNotification resume(const NotificationAction& action) {
    const std::string title =
        fmt::format("Environment {} could not resume", core::escaped(action.environment));
    try {
        Client client;
        requireOwn(client, action.environment);
        const GivingUp givingUp;
        const auto devices = client.resume(action.environment, AttachOptions(),
                                           Waiting().setStopDescriptor(givingUp.descriptor()));
        const bool isMoving =
            !devices && client.environment(action.environment).parking.state == "resuming";
        if (!devices && !isMoving)
            return failure(title, noAnswer, {});
        return {{},
                Urgency::Low,
                "x-genv.parking",
                fmt::format("Environment {} {}", core::escaped(action.environment),
                            isMoving ? "resumes" : "goes on"),
                {isMoving ? std::string("The memory of its programs moves back to its GPUs.")
                          : fmt::format("Its programs go on on {}.", core::nameGpus(*devices))},
                {},
                {}};
    } catch (const Error& error) {
        const bool isTaken = error.name() == "dev.genv.Error.DeviceUnavailable" ||
                             error.name() == "dev.genv.Error.NotEnoughDevices";
        return failure(title, sentenceOf(error),
                       isTaken
                           ? fmt::format("\"genvctl resume --id {} --wait\" waits in the queue.",
                                         core::escaped(action.environment))
                           : hintFor(error));
    }
}

} // namespace

DesktopNotification carryOut(const NotificationAction& action, const std::string& subject) {
    DesktopNotification message = action.kind == NotificationAction::Kind::Extend ? extend(action)
                                  : action.kind == NotificationAction::Kind::Resume
                                      ? resume(action)
                                      : attachAgain(action);
    message.subject = subject;
    return message;
}

} // namespace genv::notify
