// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/notify/desktop.hpp"

#include "core/base/markup.hpp"
#include "core/base/text.hpp"
#include "dbus/contract/names.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <utility>

namespace genv::notify {

namespace {

using namespace std::chrono_literals;

namespace contract = dbus::contract;

constexpr const char* ownName = "dev.genv.Notify";
constexpr const char* serverName = "org.freedesktop.Notifications";
constexpr const char* serverPath = "/org/freedesktop/Notifications";

// More messages than this are shown as one summary.
constexpr std::size_t maxConcurrent = 3;
constexpr std::size_t maxPending = 64;
constexpr std::size_t maxShown = 256;
constexpr std::chrono::microseconds usual{0}; // the usual timeout of a call
// If the session bus does not come back within this time, the session is over.
constexpr auto sessionIsOver = 60s;

struct Button {
    const char* key;
    const char* label;
};

Button buttonOf(NotificationAction::Kind kind) {
    switch (kind) {
    case NotificationAction::Kind::Extend:
        return {"extend", "Extend by an hour"};
    case NotificationAction::Kind::Resume:
        return {"resume", "Resume"};
    case NotificationAction::Kind::AttachAgain:
        break;
    }
    return {"attach-again", "Attach again"};
}

const char* keyOf(NotificationAction::Kind kind) {
    return buttonOf(kind).key;
}

const char* labelOf(NotificationAction::Kind kind) {
    return buttonOf(kind).label;
}

std::string signalRule(const char* member) {
    return std::string("type='signal',sender='") + serverName + "',path='" + serverPath +
           "',interface='" + serverName + "',member='" + member + "'";
}

void logFailure(const char* what, const event::BusReply& reply) {
    std::fprintf(stderr, "genv-notify: %s: %s\n", what,
                 core::escaped(reply.errorText(), 256).c_str());
}

std::unique_ptr<sdbus::IConnection> openSessionBus() {
    try {
        return sdbus::createSessionBusConnection();
    } catch (const sdbus::Error& error) {
        throw std::runtime_error("the session bus cannot be reached: " + error.getMessage());
    }
}

} // namespace

Desktop::Session::Session(sd_event* loop)
    : connection(openSessionBus()), bus(*connection, loop, event::AtDisconnect::KeepLoop) {}

Desktop::Desktop(sd_event* loop, Listener listener)
    : loop_(loop), listener_(std::move(listener)), retry_(loop, [this] { reconnect(); }),
      retryServer_(loop, [this] { pump(); }) {}

void Desktop::connect() {
    session_.emplace(loop_);
    listen();
    requestName();
}

void Desktop::listen() {
    const event::LoopBus& bus = session_->bus;
    bus.listen("type='signal',path='/org/freedesktop/DBus/Local',"
               "interface='org.freedesktop.DBus.Local',member='Disconnected'",
               [this](sdbus::Message& /*signal*/) { onDisconnected(); });
    bus.listen(std::string("type='signal',sender='") + contract::busDriver +
                   "',member='NameOwnerChanged',arg0='" + serverName + "'",
               [this](sdbus::Message& signal) { onOwnerChanged(signal); });
    bus.listen(signalRule("NotificationClosed"),
               [this](sdbus::Message& signal) { onClosed(signal); });
    bus.listen(signalRule("ActionInvoked"), [this](sdbus::Message& signal) { onAction(signal); });
}

void Desktop::requestName() {
    constexpr std::uint32_t doNotQueue = 4;
    sdbus::MethodCall call = session_->bus.callBus("RequestName");
    call << ownName << doNotQueue;
    session_->bus.send(call, usual,
                       [this](const event::BusReply& reply) { onNameRequested(reply); });
}

void Desktop::onNameRequested(const event::BusReply& reply) {
    if (reply.isError("org.freedesktop.DBus.Error.NoReply"))
        return; // the bus disconnected, which is handled by onDisconnected()
    if (reply.isError()) {
        logFailure("cannot own a name on the session bus", reply);
        listener_.ended(EXIT_FAILURE);
        return;
    }
    std::uint32_t result = 0;
    reply.message() >> result;
    constexpr std::uint32_t primaryOwner = 1;
    if (result != primaryOwner) {
        std::fputs("genv-notify: already running in this session\n", stderr);
        listener_.ended(EXIT_SUCCESS);
        return;
    }
    isMine_ = true;
    lostSince_.reset();
    backoff_.succeeded();
    pump();
}

// Only schedules the reconnection: the bus must not be destroyed in its own handler.
void Desktop::onDisconnected() {
    isMine_ = false;
    retry_.start(backoff_.next());
}

void Desktop::reconnect() {
    const auto now = std::chrono::steady_clock::now();
    session_.reset();
    isMine_ = false;
    isAsking_ = false;
    forgetServer();
    if (!lostSince_)
        lostSince_ = now;
    if (now - *lostSince_ > sessionIsOver) {
        std::fputs("genv-notify: the session bus is gone\n", stderr);
        listener_.ended(EXIT_FAILURE);
        return;
    }
    try {
        connect();
    } catch (const std::exception&) {
        retry_.start(std::min(backoff_.next(), std::chrono::milliseconds(5s)));
    }
}

// Unconfirmed notifications may not have arrived, so they are queued again.
void Desktop::forgetServer() {
    server_.clear();
    shown_.clear();
    ids_.clear();
    for (auto& [subject, sending] : std::exchange(sendings_, {}))
        enqueue(std::move(sending));
}

void Desktop::onOwnerChanged(sdbus::Message& signal) {
    std::string name;
    std::string before;
    std::string after;
    signal >> name >> before >> after;
    if (dbus::compat::senderOf(signal) != contract::busDriver || server_ == after)
        return;
    shown_.clear();
    ids_.clear();
    server_.clear();
    if (!after.empty()) {
        serverBackoff_.succeeded();
        retryServer_.stop();
        pump();
    }
}

void Desktop::askServer() {
    if (std::exchange(isAsking_, true))
        return;
    session_->bus.send(session_->bus.call(serverName, serverPath, serverName, "GetCapabilities"),
                       usual, [this](const event::BusReply& reply) { onCapabilities(reply); });
}

void Desktop::onCapabilities(const event::BusReply& reply) {
    isAsking_ = false;
    if (reply.isError()) {
        // If the server is not running, a signal reports when its name appears. Any other error may
        // mean that the server is busy, so the call is retried.
        if (!reply.isError("org.freedesktop.DBus.Error.ServiceUnknown"))
            retryServer_.start(serverBackoff_.next());
        return;
    }
    std::vector<std::string> capabilities;
    reply.message() >> capabilities;
    capabilities_ = {capabilities.begin(), capabilities.end()};
    server_ = dbus::compat::senderOf(reply.message());
    serverBackoff_.succeeded();
    pump();
}

void Desktop::enqueue(DesktopNotification message) {
    const auto same =
        std::find_if(pending_.begin(), pending_.end(), [&](const DesktopNotification& each) {
            return each.subject == message.subject;
        });
    if (same != pending_.end()) {
        *same = joined(*same, std::move(message));
        return;
    }
    pending_.push_back(std::move(message));
    if (pending_.size() > maxPending) {
        pending_.erase(pending_.begin());
        ++dropped_;
    }
}

void Desktop::show(std::vector<DesktopNotification> messages) {
    for (DesktopNotification& message : messages)
        enqueue(std::move(message));
    pump();
}

void Desktop::pump() {
    if (!isMine_ || pending_.empty())
        return;
    if (server_.empty()) {
        askServer();
        return;
    }
    if (pending_.size() > maxConcurrent && !sendings_.contains("summary")) {
        DesktopNotification summary =
            summarize(std::exchange(pending_, {}), std::exchange(dropped_, 0));
        send(std::move(summary));
        return;
    }
    // Sends one message of a subject at a time, because the next one needs the id of the first.
    for (DesktopNotification& message : std::exchange(pending_, {})) {
        if (sendings_.contains(message.subject))
            enqueue(std::move(message));
        else
            send(std::move(message));
    }
}

std::string Desktop::bodyOf(const DesktopNotification& message) const {
    const bool hasMarkup = capabilities_.contains("body-markup");
    std::string body;
    for (const std::string& sentence : message.sentences) {
        body += body.empty() ? "" : "\n";
        body += hasMarkup ? core::escapedForMarkup(sentence) : sentence;
    }
    if (!message.hint.empty())
        body += hasMarkup ? "\n<i>" + core::escapedForMarkup(message.hint) + "</i>"
                          : "\n" + message.hint;
    return body;
}

// The keys and labels of the buttons, in turn.
std::vector<std::string> Desktop::buttonsOf(const DesktopNotification& message) const {
    std::vector<std::string> buttons;
    if (!capabilities_.contains("actions"))
        return buttons;
    for (const NotificationAction& action : message.actions)
        buttons.insert(buttons.end(), {keyOf(action.kind), labelOf(action.kind)});
    return buttons;
}

void Desktop::send(DesktopNotification message) {
    constexpr std::int32_t serverDecides = -1; // when the notification disappears
    const auto known = ids_.find(message.subject);
    const std::uint32_t replaced = known == ids_.end() ? 0 : known->second;
    const std::string& title = capabilities_.contains("body") || message.sentences.empty()
                                   ? message.title
                                   : message.sentences.front();
    const std::map<std::string, sdbus::Variant> hints{
        {"urgency", sdbus::Variant(static_cast<std::uint8_t>(message.urgency))},
        {"category", sdbus::Variant(std::string(message.category))},
        {"desktop-entry", sdbus::Variant(std::string("genv-notify"))},
    };
    sdbus::MethodCall call = session_->bus.call(server_, serverPath, serverName, "Notify");
    call << "genv" << replaced << "genv" << title << bodyOf(message) << buttonsOf(message) << hints
         << serverDecides;
    session_->bus.send(call, usual,
                       [this, subject = message.subject](const event::BusReply& reply) {
                           onReply(reply, subject);
                       });
    std::string subject = message.subject;
    sendings_.insert_or_assign(std::move(subject), std::move(message));
}

void Desktop::onReply(const event::BusReply& reply, const std::string& subject) {
    auto sending = sendings_.extract(subject);
    if (sending.empty())
        return;
    if (!reply.isError()) {
        std::uint32_t id = 0;
        reply.message() >> id;
        onShown(std::move(sending.mapped()), id);
    } else if (reply.isLost()) {
        server_.clear();
        enqueue(std::move(sending.mapped()));
        retryServer_.start(serverBackoff_.next());
    } else {
        logFailure("the notification server refused a message", reply);
    }
}

void Desktop::onShown(DesktopNotification message, std::uint32_t id) {
    if (const auto before = ids_.find(message.subject); before != ids_.end())
        shown_.erase(before->second);
    if (shown_.size() >= maxShown) {
        ids_.erase(shown_.begin()->second.subject);
        shown_.erase(shown_.begin());
    }
    ids_[message.subject] = id;
    shown_[id] = {std::move(message.subject), std::move(message.actions)};
    pump();
}

bool Desktop::isFromServer(const sdbus::Message& message) const {
    return !server_.empty() && server_ == dbus::compat::senderOf(message);
}

void Desktop::onClosed(sdbus::Message& signal) {
    std::uint32_t id = 0;
    signal >> id;
    const auto found = shown_.find(id);
    if (!isFromServer(signal) || found == shown_.end())
        return;
    const std::string subject = found->second.subject;
    ids_.erase(subject);
    shown_.erase(found);
    listener_.closed(subject);
}

void Desktop::onAction(sdbus::Message& signal) {
    std::uint32_t id = 0;
    std::string key;
    signal >> id >> key;
    const auto found = shown_.find(id);
    if (!isFromServer(signal) || found == shown_.end())
        return;
    std::vector<NotificationAction>& actions = found->second.actions;
    const auto known =
        std::find_if(actions.begin(), actions.end(),
                     [&](const NotificationAction& each) { return keyOf(each.kind) == key; });
    if (known == actions.end())
        return;
    const NotificationAction chosen = std::move(*known);
    const std::string subject = found->second.subject;
    actions.clear(); // an action can be chosen only once
    show({listener_.chosen(chosen, subject)});
}

} // namespace genv::notify
