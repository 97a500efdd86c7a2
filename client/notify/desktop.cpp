// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/notify/desktop.hpp"

#include "core/text.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <system_error>
#include <utility>

namespace genv::notify {

namespace {

using namespace std::chrono_literals;

using event::check;

constexpr const char* ownName = "dev.genv.Notify";
constexpr const char* driver = "org.freedesktop.DBus";
constexpr const char* serverName = "org.freedesktop.Notifications";
constexpr const char* serverPath = "/org/freedesktop/Notifications";

// More messages than this are shown as one summary.
constexpr std::size_t maxConcurrent = 3;
constexpr std::size_t maxPending = 64;
constexpr std::size_t maxShown = 256;
// If the session bus does not come back within this time, the session is over.
constexpr auto sessionIsOver = 60s;

const char* keyOf(Action::Kind kind) {
    return kind == Action::Kind::Extend ? "extend" : "attach-again";
}

const char* labelOf(Action::Kind kind) {
    return kind == Action::Kind::Extend ? "Extend by an hour" : "Attach again";
}

std::string markedUp(std::string_view text) {
    std::string result;
    for (const char c : text) {
        if (c == '&')
            result += "&amp;";
        else if (c == '<')
            result += "&lt;";
        else if (c == '>')
            result += "&gt;";
        else
            result += c;
    }
    return result;
}

struct ReleaseMessage {
    void operator()(sd_bus_message* message) const noexcept { sd_bus_message_unref(message); }
};
using BusMessage = std::unique_ptr<sd_bus_message, ReleaseMessage>;

BusMessage callTo(sd_bus* bus, const char* server, const char* member) {
    sd_bus_message* message = nullptr;
    check(sd_bus_message_new_method_call(bus, &message, server, serverPath, serverName, member),
          "a call");
    return BusMessage(message);
}

void logFailure(const char* what, sd_bus_message* reply) {
    const sd_bus_error* error = sd_bus_message_get_error(reply);
    std::fprintf(
        stderr, "genv-notify: %s: %s\n", what,
        core::escaped(error->message != nullptr ? error->message : error->name, 256).c_str());
}

} // namespace

// sd-bus is a C library: no exception may leave a handler.
template <void (Desktop::*Handler)(sd_bus_message*)>
int Desktop::handle(sd_bus_message* message, void* desktop, sd_bus_error* /*error*/) {
    try {
        (static_cast<Desktop*>(desktop)->*Handler)(message);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "genv-notify: %s\n", core::escaped(error.what(), 256).c_str());
    }
    return 0;
}

int Desktop::handleShown(sd_bus_message* reply, void* sending, sd_bus_error* /*error*/) {
    try {
        auto* self = static_cast<Sending*>(sending);
        self->desktop->onShown(reply, *self);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "genv-notify: %s\n", core::escaped(error.what(), 256).c_str());
    }
    return 0;
}

Desktop::Desktop(sd_event* loop, Listener listener)
    : loop_(loop), listener_(std::move(listener)), retry_(loop, [this] { reconnect(); }),
      retryServer_(loop, [this] { pump(); }) {}

void Desktop::connect() {
    sd_bus* bus = nullptr;
    check(sd_bus_open_user(&bus), "the session bus cannot be reached");
    bus_.reset(bus);
    check(sd_bus_attach_event(bus, loop_, SD_EVENT_PRIORITY_NORMAL), "the session bus");
    check(sd_bus_match_signal(bus, nullptr, nullptr, "/org/freedesktop/DBus/Local",
                              "org.freedesktop.DBus.Local", "Disconnected",
                              &handle<&Desktop::onDisconnected>, this),
          "the session bus");
    const std::string changes = std::string("type='signal',sender='") + driver +
                                "',member='NameOwnerChanged',arg0='" + serverName + "'";
    check(sd_bus_add_match_async(bus, nullptr, changes.c_str(), &handle<&Desktop::onOwnerChanged>,
                                 nullptr, this),
          "the session bus");
    check(sd_bus_match_signal_async(bus, nullptr, serverName, serverPath, serverName,
                                    "NotificationClosed", &handle<&Desktop::onClosed>, nullptr,
                                    this),
          "the session bus");
    check(sd_bus_match_signal_async(bus, nullptr, serverName, serverPath, serverName,
                                    "ActionInvoked", &handle<&Desktop::onAction>, nullptr, this),
          "the session bus");
    check(sd_bus_request_name_async(bus, nullptr, ownName, 0, &handle<&Desktop::onNameRequested>,
                                    this),
          "the session bus");
}

void Desktop::onNameRequested(sd_bus_message* reply) {
    if (sd_bus_message_is_method_error(reply, SD_BUS_ERROR_NO_REPLY) > 0)
        return; // the bus disconnected, which is handled by onDisconnected()
    if (sd_bus_message_is_method_error(reply, nullptr) > 0) {
        logFailure("cannot own a name on the session bus", reply);
        listener_.ended(EXIT_FAILURE);
        return;
    }
    std::uint32_t result = 0;
    check(sd_bus_message_read(reply, "u", &result), "a reply of the session bus");
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
void Desktop::onDisconnected(sd_bus_message* /*signal*/) {
    isMine_ = false;
    retry_.start(backoff_.next());
}

void Desktop::reconnect() {
    const auto now = std::chrono::steady_clock::now();
    bus_.reset();
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
    } catch (const std::system_error&) {
        retry_.start(std::min(backoff_.next(), std::chrono::milliseconds(5s)));
    }
}

// Unconfirmed notifications may not have arrived, so they are queued again.
void Desktop::forgetServer() {
    server_.clear();
    shown_.clear();
    ids_.clear();
    for (auto& [subject, sending] : std::exchange(sendings_, {}))
        enqueue(std::move(sending->message));
}

void Desktop::onOwnerChanged(sd_bus_message* signal) {
    const char* name = nullptr;
    const char* before = nullptr;
    const char* after = nullptr;
    check(sd_bus_message_read(signal, "sss", &name, &before, &after), "a signal");
    const char* sender = sd_bus_message_get_sender(signal);
    if (sender == nullptr || std::string_view(sender) != driver || server_ == after)
        return;
    shown_.clear();
    ids_.clear();
    server_.clear();
    if (*after != '\0') {
        serverBackoff_.succeeded();
        retryServer_.stop();
        pump();
    }
}

void Desktop::askServer() {
    if (std::exchange(isAsking_, true))
        return;
    const BusMessage call = callTo(bus_.get(), serverName, "GetCapabilities");
    check(sd_bus_call_async(bus_.get(), nullptr, call.get(), &handle<&Desktop::onCapabilities>,
                            this, 0),
          "a call");
}

void Desktop::onCapabilities(sd_bus_message* reply) {
    isAsking_ = false;
    if (sd_bus_message_is_method_error(reply, nullptr) > 0) {
        // If the server is not running, a signal reports when its name appears. Any other error may
        // mean that the server is busy, so the call is retried.
        if (sd_bus_message_is_method_error(reply, SD_BUS_ERROR_SERVICE_UNKNOWN) == 0)
            retryServer_.start(serverBackoff_.next());
        return;
    }
    capabilities_.clear();
    check(sd_bus_message_enter_container(reply, 'a', "s"), "the server's capabilities");
    for (const char* one = nullptr; sd_bus_message_read(reply, "s", &one) > 0;)
        capabilities_.insert(one);
    server_ = sd_bus_message_get_sender(reply);
    serverBackoff_.succeeded();
    pump();
}

void Desktop::enqueue(Message message) {
    const auto same = std::find_if(pending_.begin(), pending_.end(), [&](const Message& each) {
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

void Desktop::show(std::vector<Message> messages) {
    for (Message& message : messages)
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
        Message summary = summarise(std::exchange(pending_, {}), std::exchange(dropped_, 0));
        send(std::move(summary));
        return;
    }
    // Sends one message of a subject at a time, because the next one needs the id of the first.
    for (Message& message : std::exchange(pending_, {})) {
        if (sendings_.contains(message.subject))
            enqueue(std::move(message));
        else
            send(std::move(message));
    }
}

std::string Desktop::bodyOf(const Message& message) const {
    const bool hasMarkup = capabilities_.contains("body-markup");
    std::string body;
    for (const std::string& sentence : message.sentences) {
        body += body.empty() ? "" : "\n";
        body += hasMarkup ? markedUp(sentence) : sentence;
    }
    if (!message.hint.empty())
        body += hasMarkup ? "\n<i>" + markedUp(message.hint) + "</i>" : "\n" + message.hint;
    return body;
}

void Desktop::send(Message message) {
    const BusMessage call = callTo(bus_.get(), server_.c_str(), "Notify");
    const auto known = ids_.find(message.subject);
    const std::uint32_t replaced = known == ids_.end() ? 0 : known->second;
    const std::string body = bodyOf(message);
    const std::string& title = capabilities_.contains("body") || message.sentences.empty()
                                   ? message.title
                                   : message.sentences.front();
    check(sd_bus_message_append(call.get(), "susss", "genv", replaced, "genv", title.c_str(),
                                body.c_str()),
          "a notification");
    check(sd_bus_message_open_container(call.get(), 'a', "s"), "a notification");
    if (capabilities_.contains("actions")) {
        for (const Action& action : message.actions)
            check(sd_bus_message_append(call.get(), "ss", keyOf(action.kind), labelOf(action.kind)),
                  "a notification");
    }
    check(sd_bus_message_close_container(call.get()), "a notification");
    appendHints(call.get(), message);
    check(sd_bus_message_append(call.get(), "i", -1), "a notification");
    auto sending = std::make_unique<Sending>(Sending{this, std::move(message)});
    check(
        sd_bus_call_async(bus_.get(), nullptr, call.get(), &Desktop::handleShown, sending.get(), 0),
        "a notification");
    const std::string subject = sending->message.subject;
    sendings_[subject] = std::move(sending);
}

void Desktop::appendHints(sd_bus_message* call, const Message& message) const {
    check(sd_bus_message_append(call, "a{sv}", 3, "urgency", "y", static_cast<int>(message.urgency),
                                "category", "s", message.category.c_str(), "desktop-entry", "s",
                                "genv-notify"),
          "a notification");
}

void Desktop::onShown(sd_bus_message* reply, Sending& sending) {
    const auto known = sendings_.find(sending.message.subject);
    if (known == sendings_.end() || known->second.get() != &sending)
        return;
    Message message = std::move(known->second->message);
    sendings_.erase(known);
    if (sd_bus_message_is_method_error(reply, nullptr) > 0) {
        const bool isGone =
            sd_bus_message_is_method_error(reply, SD_BUS_ERROR_SERVICE_UNKNOWN) > 0 ||
            sd_bus_message_is_method_error(reply, SD_BUS_ERROR_NAME_HAS_NO_OWNER) > 0 ||
            sd_bus_message_is_method_error(reply, SD_BUS_ERROR_DISCONNECTED) > 0 ||
            sd_bus_message_is_method_error(reply, SD_BUS_ERROR_NO_REPLY) > 0;
        if (!isGone) {
            logFailure("the notification server refused a message", reply);
            return;
        }
        server_.clear();
        enqueue(std::move(message));
        retryServer_.start(serverBackoff_.next());
        return;
    }
    std::uint32_t id = 0;
    check(sd_bus_message_read(reply, "u", &id), "the server's reply");
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

bool Desktop::isFromServer(sd_bus_message* message) const {
    const char* sender = sd_bus_message_get_sender(message);
    return sender != nullptr && !server_.empty() && server_ == sender;
}

void Desktop::onClosed(sd_bus_message* signal) {
    std::uint32_t id = 0;
    std::uint32_t reason = 0;
    check(sd_bus_message_read(signal, "uu", &id, &reason), "a signal");
    const auto found = shown_.find(id);
    if (!isFromServer(signal) || found == shown_.end())
        return;
    const std::string subject = found->second.subject;
    ids_.erase(subject);
    shown_.erase(found);
    listener_.closed(subject);
}

void Desktop::onAction(sd_bus_message* signal) {
    std::uint32_t id = 0;
    const char* key = nullptr;
    check(sd_bus_message_read(signal, "us", &id, &key), "a signal");
    const auto found = shown_.find(id);
    if (!isFromServer(signal) || found == shown_.end())
        return;
    std::vector<Action>& actions = found->second.actions;
    const auto known = std::find_if(actions.begin(), actions.end(), [&](const Action& each) {
        return std::string_view(keyOf(each.kind)) == key;
    });
    if (known == actions.end())
        return;
    const Action chosen = std::move(*known);
    const std::string subject = found->second.subject;
    actions.clear(); // an action can be chosen only once
    show({listener_.chosen(chosen, subject)});
}

} // namespace genv::notify
