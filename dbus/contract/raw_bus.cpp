// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/contract/raw_bus.hpp"

#include "dbus/contract/names.hpp"
#include "dbus/contract/sd_message.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <system_error>
#include <utility>

namespace genv::dbus::raw {

namespace {

using Text = std::unique_ptr<char, decltype([](char* text) { std::free(text); })>;

// Gets the sd_bus of a connection through a message that is created for this and never sent.
sd_bus* busOf(sdbus::IConnection& connection) {
    const auto object = sdbus::createObject(connection, sdbus::ObjectPath{contract::managerPath});
    const sdbus::Signal signal = object->createSignal(compat::InterfaceName{contract::busName},
                                                      compat::MemberName{"QueueChanged"});
    return sd_bus_message_get_bus(sdMessageOf(signal));
}

template <typename Make>
Reference make(Make makeMessage) {
    sd_bus_message* made = nullptr;
    require(makeMessage(&made), "a message cannot be made");
    return Reference(made);
}

std::string_view textOf(const char* text) {
    return text != nullptr ? std::string_view(text) : std::string_view();
}

// Registers a handler by calling `registerFor`. `failure` is the message if that fails. sd-bus
// deletes the handler once it has released the slot, which is never before the handler has
// returned.
template <typename Handler, typename Register>
Slot add(const std::string& failure, Handler handler, Register registerFor) {
    auto kept = std::make_unique<Handler>(std::move(handler));
    sd_bus_slot* slot = nullptr;
    require(registerFor(&slot, kept.get()), failure.c_str());
    Slot owned(slot);
    require(sd_bus_slot_set_destroy_callback(
                slot, [](void* data) { delete static_cast<Handler*>(data); }),
            "a handler cannot be kept");
    static_cast<void>(kept.release());
    return owned;
}

// Runs a callback of sd-bus: no exception may pass through sd-bus.
template <typename Function>
int guarded(Function function) {
    try {
        return function();
    } catch (const std::exception&) {
        return -ENOMEM; // sent to the caller as an error
    }
}

int onMessage(sd_bus_message* message, void* handler, sd_bus_error* /*error*/) {
    return guarded(
        [&] { return (*static_cast<Bus::Handler*>(handler))(Message(message)) ? 1 : 0; });
}

// Returns a null-terminated array of strings, allocated with malloc(3), which its new owner frees.
char** toArray(const std::vector<std::string>& strings) {
    std::vector<Text> copies;
    for (const std::string& string : strings) {
        if (copies.emplace_back(::strdup(string.c_str())) == nullptr)
            throw std::bad_alloc();
    }
    auto** const array = static_cast<char**>(std::calloc(copies.size() + 1, sizeof(char*)));
    if (array == nullptr)
        throw std::bad_alloc();
    std::ranges::transform(copies, array, [](Text& text) { return text.release(); });
    return array;
}

int onEnumeration(sd_bus* /*bus*/, const char* /*prefix*/, void* list, char*** paths,
                  sd_bus_error* /*error*/) {
    return guarded([&] {
        *paths = toArray((*static_cast<Bus::List*>(list))());
        return 0;
    });
}

// Parses the bus's reply to GetConnectionCredentials.
std::optional<Credentials> readCredentials(sd_bus_message* answer) {
    Credentials credentials;
    bool hasUid = false;
    if (sd_bus_message_is_method_error(answer, nullptr) != 0 ||
        sd_bus_message_enter_container(answer, 'a', "{sv}") <= 0)
        return std::nullopt;
    while (sd_bus_message_enter_container(answer, 'e', "sv") > 0) {
        const char* key = "";
        sd_bus_message_read_basic(answer, 's', &key);
        if (std::strcmp(key, "UnixUserID") == 0)
            hasUid = sd_bus_message_read(answer, "v", "u", &credentials.uid) > 0;
        else if (std::strcmp(key, "ProcessID") == 0)
            sd_bus_message_read(answer, "v", "u", &credentials.pid);
        else
            sd_bus_message_skip(answer, "v");
        sd_bus_message_exit_container(answer);
    }
    return hasUid ? std::optional(credentials) : std::nullopt;
}

int onCredentials(sd_bus_message* answer, void* callback, sd_bus_error* /*error*/) {
    return guarded([&] {
        const bool isLate = sd_bus_message_is_method_error(answer, SD_BUS_ERROR_NO_REPLY) != 0;
        (*static_cast<Bus::CredentialsCallback*>(callback))(readCredentials(answer), isLate);
        return 0;
    });
}

/// Measures a call by iterating over its arguments.
class Measurement {
  public:
    Measurement(sd_bus_message* call, const CallSize& max) : call_(call), max_(max) {
        const char* path = sd_bus_message_get_path(call);
        size_.bytes = path != nullptr ? std::strlen(path) + 1 : 0;
    }

    /// Returns nothing if the call is too large. A malformed call counts as far as it can be read.
    std::optional<CallSize> take() {
        measureAll();
        sd_bus_message_rewind(call_, 1);
        return isTooMuch() ? std::nullopt : std::optional(size_);
    }

  private:
    [[nodiscard]] bool isTooMuch() const {
        return size_.values > max_.values || size_.bytes > max_.bytes;
    }

    // These return whether to continue.
    bool measureAll() {
        for (;;) {
            char type = 0;
            const char* contents = nullptr;
            const int more = sd_bus_message_peek_type(call_, &type, &contents);
            if (more <= 0)
                return more == 0;
            ++size_.values;
            if (!measureOne(type, contents) || isTooMuch())
                return false;
        }
    }
    bool measureOne(char type, const char* contents) {
        if (contents == nullptr)
            return measureBasic(type);
        // Arrays of numbers are not iterated over.
        if (type == SD_BUS_TYPE_ARRAY && contents[1] == '\0' &&
            std::strchr("ynqiuxtd", contents[0]) != nullptr)
            return measureArray(contents[0]);
        return sd_bus_message_enter_container(call_, type, contents) >= 0 && measureAll() &&
               sd_bus_message_exit_container(call_) >= 0;
    }
    bool measureBasic(char type) {
        union {
            const char* text;
            std::uint64_t number;
        } value{};
        if (sd_bus_message_read_basic(call_, type, &value) < 0)
            return false;
        const bool isText = std::strchr("sog", type) != nullptr;
        size_.bytes += isText ? std::strlen(value.text) + 1 : sizeof(value.number);
        return true;
    }
    bool measureArray(char type) {
        const void* values = nullptr;
        std::size_t bytes = 0;
        if (sd_bus_message_read_array(call_, type, &values, &bytes) < 0)
            return false;
        constexpr std::size_t widest = 8;
        size_.bytes += bytes;
        size_.values += bytes / (std::strchr("xtd", type) != nullptr  ? widest
                                 : std::strchr("iu", type) != nullptr ? widest / 2
                                                                      : 1);
        return true;
    }

    sd_bus_message* call_;
    const CallSize& max_;
    CallSize size_;
};

} // namespace

void Unreference::operator()(sd_bus_message* message) const noexcept {
    sd_bus_message_unref(message);
}

void Unreference::operator()(sd_bus_slot* slot) const noexcept {
    sd_bus_slot_unref(slot);
}

Message::Message(sd_bus_message* message) : message_(sd_bus_message_ref(message)) {}

Message::Message(const sdbus::Message& message) : Message(sdMessageOf(message)) {}

Message Message::beingProcessed(const sdbus::IObject& object) {
    return Message(compat::currentMessage(object));
}

bool Message::isCall() const {
    return sd_bus_message_is_method_call(message_.get(), nullptr, nullptr) > 0;
}

bool Message::isSignal() const {
    return sd_bus_message_is_signal(message_.get(), nullptr, nullptr) > 0;
}

bool Message::calls(const char* interface, const char* member, const char* signature) const {
    return sd_bus_message_is_method_call(message_.get(), interface, member) > 0 &&
           sd_bus_message_has_signature(message_.get(), signature) > 0;
}

bool Message::expectsReply() const {
    return sd_bus_message_get_expect_reply(message_.get()) > 0;
}

bool Message::allowsInteraction() const {
    return sd_bus_message_get_allow_interactive_authorization(message_.get()) > 0;
}

std::string_view Message::sender() const {
    return textOf(sd_bus_message_get_sender(message_.get()));
}

std::string_view Message::destination() const {
    return textOf(sd_bus_message_get_destination(message_.get()));
}

std::string_view Message::path() const {
    return textOf(sd_bus_message_get_path(message_.get()));
}

std::string_view Message::interface() const {
    return textOf(sd_bus_message_get_interface(message_.get()));
}

std::string_view Message::member() const {
    return textOf(sd_bus_message_get_member(message_.get()));
}

std::optional<CallSize> Message::size(const CallSize& max) const {
    return Measurement(message_.get(), max).take();
}

std::optional<Credentials> Message::askForSender() const {
    sd_bus_creds* queried = nullptr;
    const int result =
        sd_bus_query_sender_creds(message_.get(), SD_BUS_CREDS_EUID | SD_BUS_CREDS_PID, &queried);
    const std::unique_ptr<sd_bus_creds, decltype(&sd_bus_creds_unref)> credentials(
        queried, &sd_bus_creds_unref);
    uid_t uid = 0;
    if (result < 0 || sd_bus_creds_get_euid(credentials.get(), &uid) < 0)
        return std::nullopt;
    pid_t pid = 0;
    if (sd_bus_creds_get_pid(credentials.get(), &pid) < 0)
        pid = 0;
    return Credentials{uid, static_cast<std::uint32_t>(pid)};
}

void Message::reply(const std::function<void(Writer&)>& write) const {
    const Reference answer = make([this](sd_bus_message** made) {
        return sd_bus_message_new_method_return(message_.get(), made);
    });
    Writer writer(answer.get());
    write(writer);
    require(sd_bus_send(nullptr, answer.get(), nullptr), "a message cannot be sent");
}

Message Message::refusal(const char* error, const std::string& text) const {
    const sd_bus_error content{error, text.c_str(), 0};
    return Message(make([&](sd_bus_message** made) {
                       return sd_bus_message_new_method_error(message_.get(), made, &content);
                   }).get());
}

void Message::refuse(const char* error, const std::string& text) const {
    static_cast<void>(sd_bus_reply_method_errorf(message_.get(), error, "%s", text.c_str()));
}

void Message::send() const {
    static_cast<void>(sd_bus_send(nullptr, message_.get(), nullptr));
}

void Message::startNoService() const {
    require(sd_bus_message_set_auto_start(message_.get(), 0), "a call cannot be made");
}

Bus::Bus(sdbus::IConnection& connection) : bus_(busOf(connection)) {}

Slot Bus::addFilter(Handler handler) const {
    return add("cannot filter messages of the bus", std::move(handler),
               [this](sd_bus_slot** slot, void* data) {
                   return sd_bus_add_filter(bus_, slot, onMessage, data);
               });
}

Slot Bus::addObject(const char* path, Handler handler) const {
    return add(std::string("cannot serve the object ") + path, std::move(handler),
               [&](sd_bus_slot** slot, void* data) {
                   return sd_bus_add_object(bus_, slot, path, onMessage, data);
               });
}

Slot Bus::addFallback(const char* prefix, Handler handler) const {
    return add(std::string("cannot serve the objects below ") + prefix, std::move(handler),
               [&](sd_bus_slot** slot, void* data) {
                   return sd_bus_add_fallback(bus_, slot, prefix, onMessage, data);
               });
}

Slot Bus::addEnumerator(const char* prefix, List list) const {
    return add(std::string("cannot list the objects below ") + prefix, std::move(list),
               [&](sd_bus_slot** slot, void* data) {
                   return sd_bus_add_node_enumerator(bus_, slot, prefix, onEnumeration, data);
               });
}

Slot Bus::askFor(const std::string& connection, std::chrono::microseconds timeout,
                 CredentialsCallback callback) const {
    const Reference question = make([this](sd_bus_message** made) {
        return sd_bus_message_new_method_call(bus_, made, contract::busDriver,
                                              contract::busDriverPath, contract::busDriver,
                                              "GetConnectionCredentials");
    });
    Writer(question.get()).write(connection);
    return add("cannot ask the bus for a connection", std::move(callback),
               [&](sd_bus_slot** slot, void* data) {
                   return sd_bus_call_async(bus_, slot, question.get(), onCredentials, data,
                                            static_cast<std::uint64_t>(timeout.count()));
               });
}

bool Bus::enqueue(const Message& message) const {
    return sd_bus_enqueue_for_read(bus_, message.message_.get()) >= 0;
}

std::optional<std::uint64_t> Bus::unsent() const {
    std::uint64_t messages = 0;
    return sd_bus_get_n_queued_write(bus_, &messages) < 0 ? std::nullopt : std::optional(messages);
}

bool Bus::sendsDescriptors() const {
    return sd_bus_can_send(bus_, SD_BUS_TYPE_UNIX_FD) > 0;
}

void Bus::attach(sd_event* loop, bool endsLoop) const {
    require(sd_bus_attach_event(bus_, loop, SD_EVENT_PRIORITY_NORMAL), "a bus needs its loop");
    require(sd_bus_set_exit_on_disconnect(bus_, endsLoop ? 1 : 0), "a bus needs its loop");
}

void Bus::detach() const noexcept {
    sd_bus_detach_event(bus_);
}

void Bus::allowInteraction(bool allow) const {
    require(sd_bus_set_allow_interactive_authorization(bus_, allow ? 1 : 0),
            "a call cannot allow questions");
}

void awaitSystemBus(std::chrono::microseconds timeout) {
    const auto checked = [](int result) {
        if (result < 0)
            throw std::system_error(-result, std::generic_category(), "the system bus");
        return result;
    };
    using Clock = std::chrono::steady_clock;
    const auto deadline = Clock::now() + timeout;
    sd_bus* opened = nullptr;
    checked(sd_bus_open_system(&opened));
    const std::unique_ptr<sd_bus, decltype(&sd_bus_close_unref)> bus(opened, &sd_bus_close_unref);
    while (checked(sd_bus_is_ready(opened)) == 0) {
        if (checked(sd_bus_process(opened, nullptr)) > 0)
            continue;
        const auto rest =
            std::chrono::duration_cast<std::chrono::microseconds>(deadline - Clock::now());
        if (rest.count() <= 0)
            checked(-ETIMEDOUT);
        checked(sd_bus_wait(opened, static_cast<std::uint64_t>(rest.count())));
    }
}

std::string encodePath(const char* prefix, const std::string& text) {
    char* encoded = nullptr;
    if (sd_bus_path_encode(prefix, text.c_str(), &encoded) < 0)
        throw std::bad_alloc(); // the prefix is valid, so no other failure is possible
    return Text(encoded).get();
}

std::optional<std::string> decodePath(const char* prefix, const std::string& path) {
    char* decoded = nullptr;
    if (sd_bus_path_decode(path.c_str(), prefix, &decoded) <= 0)
        return std::nullopt;
    return std::string(Text(decoded).get());
}

} // namespace genv::dbus::raw
