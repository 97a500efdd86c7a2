// SPDX-License-Identifier: LGPL-2.1-or-later
// What sdbus-c++ does not offer, by sd-bus(3) beneath it: messages before sdbus-c++ reads them,
// messages written without it, handlers of sd-bus. This pair of files alone of the service and of
// the client's library includes sd-bus. sdbus_compat.hpp has the differences between versions of
// sdbus-c++.
//
// sdbus-c++ shows neither the sd_bus of a connection nor the sd_bus_message of a message. In
// versions 1 and 2 a message keeps its sd_bus_message in the protected member `msg_`, which a
// derived class may name; and an sd_bus_message knows its sd_bus. Only raw_bus.cpp reaches for
// them.
//
// A failure throws sdbus::Error, unless the function says otherwise.
#pragma once

#include "dbus/contract/sdbus_compat.hpp"

#include <sdbus-c++/sdbus-c++.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

struct sd_bus;
struct sd_bus_message;
struct sd_bus_slot;

namespace genv::dbus::raw {

struct Unreference {
    void operator()(sd_bus_message* message) const noexcept;
    void operator()(sd_bus_slot* slot) const noexcept;
};

using Reference = std::unique_ptr<sd_bus_message, Unreference>;

/// A handler that sd-bus calls as long as this lives. The handler may destroy it itself.
using Slot = std::unique_ptr<sd_bus_slot, Unreference>;

/// Who is behind a connection, as the bus says.
struct Credentials {
    std::uint32_t uid = 0; ///< effective, when it connected
    std::uint32_t pid = 0; ///< when it connected; 0 when the bus does not know
};

/// How much a call carries.
struct CallSize {
    std::size_t values = 0;
    std::size_t bytes = 0; ///< of path and arguments, about
};

/// Writes values into a message without an sdbus::Variant for each property, of which there may be
/// a hundred thousand.
class Writer {
  public:
    /// The message outlives this.
    explicit Writer(sdbus::Message& message);

    void write(bool value);
    void write(std::int32_t value) { writeBasic('i', &value); }
    void write(std::uint32_t value) { writeBasic('u', &value); }
    void write(std::uint64_t value) { writeBasic('t', &value); }
    void write(const char* value) { writeBasic('s', value); }
    void write(const std::string& value) { writeBasic('s', value.c_str()); }
    void writePath(const std::string& path) { writeBasic('o', path.c_str()); }
    template <typename Value>
    void write(const std::vector<Value>& values) {
        array(compat::signatureOf<Value>().c_str(), [&] {
            for (const Value& value : values)
                write(value);
        });
    }
    template <typename... Values>
    void write(const sdbus::Struct<Values...>& row) {
        const std::tuple<Values...>& values = row;
        inside('r', compat::signatureOf<Values...>().c_str(), [&] {
            std::apply([this](const Values&... value) { (write(value), ...); }, values);
        });
    }

    /// An array, whose elements of this signature `elements` writes.
    template <typename Elements>
    void array(const char* signature, Elements&& elements) {
        inside('a', signature, std::forward<Elements>(elements));
    }
    /// An entry of a dictionary, whose key and value of this signature `entry` writes.
    template <typename Entry>
    void entry(const char* signature, Entry&& entry) {
        inside('e', signature, std::forward<Entry>(entry));
    }
    /// An entry of a dictionary a{sv}.
    template <typename Value>
    void property(const std::string& name, const Value& value) {
        entry("sv", [&] {
            write(name);
            inside('v', compat::signatureOf<Value>().c_str(), [&] { write(value); });
        });
    }

  private:
    friend class Bus;
    friend class Message;
    explicit Writer(sd_bus_message* message) : message_(message) {}

    template <typename Contents>
    void inside(char type, const char* signature, Contents&& contents) {
        open(type, signature);
        std::forward<Contents>(contents)();
        close();
    }
    void writeBasic(char type, const void* value);
    void open(char type, const char* signature);
    void close();

    sd_bus_message* message_;
};

/// A reference to a message of sd-bus, which lives as long as any of its references.
class Message {
  public:
    /// Another reference.
    explicit Message(sd_bus_message* message);
    explicit Message(const sdbus::Message& message);
    /// The call that a handler of this object is answering; only before the handler returns.
    static Message beingProcessed(const sdbus::IObject& object);

    /// Whether both are the same message, not messages that say the same.
    bool operator==(const Message& other) const = default;

    [[nodiscard]] bool isCall() const;
    [[nodiscard]] bool isSignal() const;
    /// Whether it calls this method, with arguments of this signature.
    [[nodiscard]] bool calls(const char* interface, const char* member,
                             const char* signature) const;
    [[nodiscard]] bool expectsReply() const;
    /// Whether polkit may ask the caller for a password.
    [[nodiscard]] bool allowsInteraction() const;
    /// Empty where the message has none; valid as long as the message.
    [[nodiscard]] std::string_view sender() const;
    [[nodiscard]] std::string_view destination() const;
    [[nodiscard]] std::string_view path() const;
    [[nodiscard]] std::string_view interface() const;
    [[nodiscard]] std::string_view member() const;

    /// Measures a call that nothing was read from, and leaves it so. Nothing for more than `most`,
    /// where it stops, so that measuring is cheap whatever was sent.
    [[nodiscard]] std::optional<CallSize> size(const CallSize& most) const;

    /// Asks the bus who sent it, and waits for the answer. Nothing if the bus does not say.
    [[nodiscard]] std::optional<Credentials> askForSender() const;

    /// Answers a call with what `write` writes.
    void reply(const std::function<void(Writer&)>& write) const;
    /// An answer to a call, which refuses it.
    [[nodiscard]] Message refusal(const char* error, const std::string& text) const;
    /// Refuses a call at once, where a reply is expected. Does not throw, like send().
    void refuse(const char* error, const std::string& text) const;
    /// Sends it. Does not throw: a failure means that the bus is gone, which the next read tells.
    void send() const;

    /// Makes a call that is yet to be sent fail where there is no service, instead of starting one.
    void startNoService() const;

  private:
    friend class Bus;
    Reference message_;
};

/// The bus that a connection speaks to. The connection outlives this and every slot.
class Bus {
  public:
    explicit Bus(sdbus::IConnection& connection);

    /// Returns whether it has dealt with the message, which then goes no further. When it throws,
    /// the caller gets an error.
    using Handler = std::function<bool(Message)>;
    /// The handler gets every message, before anything else does.
    [[nodiscard]] Slot addFilter(Handler handler) const;
    /// The handler gets the calls of an object, before the interfaces that are registered there.
    [[nodiscard]] Slot addObject(const char* path, Handler handler) const;
    /// The handler gets the calls below a prefix of paths for which no object, or no such method,
    /// is registered. Where it registers one and returns false, sd-bus looks for the object again.
    [[nodiscard]] Slot addFallback(const char* prefix, Handler handler) const;

    /// Lists paths below a prefix to whoever introspects the objects.
    using List = std::function<std::vector<std::string>()>;
    [[nodiscard]] Slot addEnumerator(const char* prefix, List list) const;

    /// Gets what the bus says of a connection: nothing where it does not know it, or has not
    /// answered in time, which is late.
    using Told = std::function<void(const std::optional<Credentials>& credentials, bool isLate)>;
    /// Asks the bus who is behind a connection, without waiting.
    [[nodiscard]] Slot askFor(const std::string& connection, std::chrono::microseconds timeout,
                              Told told) const;

    /// Makes a message that came in earlier come in again; false if that fails.
    [[nodiscard]] bool enqueue(const Message& message) const;
    /// How many messages wait to be sent to the bus; nothing if the connection is gone.
    [[nodiscard]] std::optional<std::uint64_t> unsent() const;

    /// Whether polkit may ask for a password because of calls on this connection.
    void allowInteraction(bool allow) const;

  private:
    sd_bus* bus_;
};

/// The path of a text below a prefix: the text becomes one element, escaped as
/// sd_bus_path_encode(3) does.
std::string encodePath(const char* prefix, const std::string& text);
/// The text of a path below a prefix, nothing for any other path. Several paths may have one text.
std::optional<std::string> decodePath(const char* prefix, const std::string& path);

} // namespace genv::dbus::raw
