// SPDX-License-Identifier: LGPL-2.1-or-later
// Functions that sdbus-c++ lacks, based on sd-bus(3): access to messages before sdbus-c++ reads
// them, messages read and written without it, and handlers of sd-bus. In the service and the
// clients only raw_bus.cpp and raw_values.cpp use sd-bus. sdbus_compat.hpp handles the differences
// between versions of sdbus-c++.
//
// sdbus-c++ exposes neither the sd_bus of a connection nor the sd_bus_message of a message. In
// versions 1 and 2 a message stores its sd_bus_message in the protected member `msg_`, which a
// derived class may access, and an sd_bus_message has a reference to its sd_bus. Only
// sd_message.hpp accesses them.
//
// A failure throws sdbus::Error unless documented otherwise.
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
struct sd_event;

namespace genv::dbus::raw {

struct Unreference {
    void operator()(sd_bus_message* message) const noexcept;
    void operator()(sd_bus_slot* slot) const noexcept;
};

using Reference = std::unique_ptr<sd_bus_message, Unreference>;

/// A handler that sd-bus calls while this object exists. The handler may destroy it.
using Slot = std::unique_ptr<sd_bus_slot, Unreference>;

/// The credentials of a connection, as the bus reports them.
struct Credentials {
    std::uint32_t uid = 0; ///< effective uid when it connected
    std::uint32_t pid = 0; ///< PID when it connected; 0 if the bus does not know it
};

/// The size of a call.
struct CallSize {
    std::size_t values = 0;
    std::size_t bytes = 0; ///< approximate size of path and arguments
};

/// Writes values into a message without creating an sdbus::Variant for each property, of which
/// there may be a hundred thousand.
class Writer {
  public:
    /// The message must outlive this object.
    explicit Writer(sdbus::Message& message);

    void write(bool value);
    void write(std::int32_t value) { writeBasic('i', &value); }
    void write(std::uint32_t value) { writeBasic('u', &value); }
    void write(std::uint64_t value) { writeBasic('t', &value); }
    void write(const char* value) { writeBasic('s', value); }
    void write(const std::string& value) { writeBasic('s', value.c_str()); }
    void writePath(const std::string& path) { writeBasic('o', path.c_str()); }
    /// Writes an array of bytes (ay): text in any encoding.
    void writeBytes(std::string_view bytes);
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

    /// Writes an array; `elements` writes its elements of this signature.
    template <typename Elements>
    void array(const char* signature, Elements&& elements) {
        inside('a', signature, std::forward<Elements>(elements));
    }
    /// Writes a dictionary entry; `entry` writes its key and value of this signature.
    template <typename Entry>
    void entry(const char* signature, Entry&& entry) {
        inside('e', signature, std::forward<Entry>(entry));
    }
    /// Writes a structure; `members` writes its members of this signature.
    template <typename Members>
    void structure(const char* signature, Members&& members) {
        inside('r', signature, std::forward<Members>(members));
    }
    /// Writes an entry of a dictionary a{sv}.
    template <typename Value>
    void property(const std::string& name, const Value& value) {
        property(name, compat::signatureOf<Value>().c_str(), [&] { write(value); });
    }
    /// The same; `value` writes the value of this signature.
    template <typename Value>
    void property(const std::string& name, const char* signature, Value&& value) {
        entry("sv", [&] {
            write(name);
            inside('v', signature, std::forward<Value>(value));
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

/// Reads values from a message without creating an sdbus::Variant for each property, which is a
/// message of its own. The message must outlive this object, and be read by nothing else meanwhile.
class Reader {
  public:
    explicit Reader(const sdbus::Message& message);

    void read(bool& value);
    void read(std::int32_t& value) { readBasic('i', &value); }
    void read(std::uint32_t& value) { readBasic('u', &value); }
    void read(std::uint64_t& value) { readBasic('t', &value); }
    void read(std::string& value) { value = readText('s'); }
    /// Reads an array of bytes (ay).
    void readBytes(std::string& bytes);
    /// Returns a string or a path, which is valid as long as the message.
    const char* readText(char type);
    template <typename Value>
    void read(std::vector<Value>& values) {
        array(compat::signatureOf<Value>().c_str(), [&] { read(values.emplace_back()); });
    }
    template <typename... Values>
    void read(sdbus::Struct<Values...>& row) {
        std::tuple<Values...>& values = row;
        enter('r', compat::signatureOf<Values...>().c_str());
        std::apply([this](Values&... value) { (read(value), ...); }, values);
        leave();
    }

    /// Reads an array with elements of this signature; `element` reads one element.
    template <typename Element>
    void array(const char* signature, Element&& element) {
        enter('a', signature);
        while (!isAtEnd())
            element();
        leave();
    }
    /// Reads a dictionary entry; `entry` reads its key and value of this signature.
    template <typename Entry>
    void entry(const char* signature, Entry&& entry) {
        enter('e', signature);
        std::forward<Entry>(entry)();
        leave();
    }
    /// Reads a structure; `members` reads its members of this signature.
    template <typename Members>
    void structure(const char* signature, Members&& members) {
        enter('r', signature);
        std::forward<Members>(members)();
        leave();
    }
    /// Reads a variant; `value` reads the value of this signature.
    template <typename Value>
    void variant(const char* signature, Value&& value) {
        enter('v', signature);
        std::forward<Value>(value)();
        leave();
    }
    /// Returns the signature of the value in the variant that comes next.
    std::string_view variantSignature();
    /// Reads a variant with a value of this type and signature.
    template <typename Value>
    void readVariant(const char* signature, Value& value) {
        enter('v', signature);
        read(value);
        leave();
    }
    void skipVariant();

  private:
    void readBasic(char type, void* value);
    void enter(char type, const char* signature);
    void leave();
    [[nodiscard]] bool isAtEnd();

    sd_bus_message* message_;
};

/// A reference to an sd-bus message, which exists as long as any of its references.
class Message {
  public:
    /// Adds a reference.
    explicit Message(sd_bus_message* message);
    explicit Message(const sdbus::Message& message);
    /// Returns the call that a handler of this object is processing. Valid only until the handler
    /// returns.
    static Message beingProcessed(const sdbus::IObject& object);

    /// Returns whether both refer to the same message; two messages with equal contents are
    /// different.
    bool operator==(const Message& other) const = default;

    [[nodiscard]] bool isCall() const;
    [[nodiscard]] bool isSignal() const;
    /// Returns whether this is a call of this method, with arguments of this signature.
    [[nodiscard]] bool calls(const char* interface, const char* member,
                             const char* signature) const;
    [[nodiscard]] bool expectsReply() const;
    /// Returns whether polkit may prompt the caller for a password.
    [[nodiscard]] bool allowsInteraction() const;
    /// Empty if the message has none. Valid as long as the message.
    [[nodiscard]] std::string_view sender() const;
    [[nodiscard]] std::string_view destination() const;
    [[nodiscard]] std::string_view path() const;
    [[nodiscard]] std::string_view interface() const;
    [[nodiscard]] std::string_view member() const;

    /// Measures a call from which nothing was read, and leaves its read position unchanged. Stops
    /// and returns nothing if the size exceeds `max`, so that measuring is cheap for every call.
    [[nodiscard]] std::optional<CallSize> size(const CallSize& max) const;

    /// Asks the bus for the credentials of the sender, and blocks until the reply. Returns nothing
    /// if the bus does not report them.
    [[nodiscard]] std::optional<Credentials> askForSender() const;

    /// Replies to a call with the values that `write` writes.
    void reply(const std::function<void(Writer&)>& write) const;
    /// Returns an error reply to a call.
    [[nodiscard]] Message refusal(const char* error, const std::string& text) const;
    /// Sends an error reply immediately, if a reply is expected. Does not throw, like send().
    void refuse(const char* error, const std::string& text) const;
    /// Sends the message. Does not throw: a failure means that the bus is gone, which the next read
    /// reports.
    void send() const;

    /// Makes an unsent call fail if the called service is not running, instead of starting it.
    void startNoService() const;

  private:
    friend class Bus;
    Reference message_;
};

/// The bus of a connection. The connection must outlive this object and every slot.
class Bus {
  public:
    explicit Bus(sdbus::IConnection& connection);

    /// Returns whether the message was handled, so that no other handler gets it. If it throws, the
    /// caller gets an error.
    using Handler = std::function<bool(Message)>;
    /// Registers a handler for every message, before all other handlers.
    [[nodiscard]] Slot addFilter(Handler handler) const;
    /// Registers a handler for the calls of an object, before the registered interfaces of that
    /// object.
    [[nodiscard]] Slot addObject(const char* path, Handler handler) const;
    /// Registers a handler for calls below a path prefix for which no object or method is
    /// registered. If it registers one and returns false, sd-bus looks up the object again.
    [[nodiscard]] Slot addFallback(const char* prefix, Handler handler) const;

    /// Returns the paths below a prefix, for introspection.
    using List = std::function<std::vector<std::string>()>;
    [[nodiscard]] Slot addEnumerator(const char* prefix, List list) const;

    /// Receives the credentials of a connection; nothing if the bus does not know it, or did not
    /// reply in time (`isLate`).
    using CredentialsCallback =
        std::function<void(const std::optional<Credentials>& credentials, bool isLate)>;
    /// Asks the bus for the credentials of a connection without blocking.
    [[nodiscard]] Slot askFor(const std::string& connection, std::chrono::microseconds timeout,
                              CredentialsCallback callback) const;

    /// Queues a received message again as if it had just arrived; false if that fails.
    [[nodiscard]] bool enqueue(const Message& message) const;
    /// Returns the number of messages that wait to be sent; nothing if the connection is gone.
    [[nodiscard]] std::optional<std::uint64_t> unsent() const;

    /// Returns whether messages on this connection can carry descriptors.
    [[nodiscard]] bool sendsDescriptors() const;

    /// Lets an event loop drive the connection, until detach(). If `endsLoop`, the loop ends with a
    /// failure status when the connection ends.
    void attach(sd_event* loop, bool endsLoop) const;
    void detach() const noexcept;

    /// Sets whether polkit may prompt for a password because of calls on this connection.
    void allowInteraction(bool allow) const;

  private:
    sd_bus* bus_;
};

/// Connects to the system bus, and closes that connection: sdbus-c++ waits for a bus that accepts
/// connections and does not answer, however long it takes. Throws std::system_error, with
/// std::errc::timed_out if the bus does not answer in time.
void awaitSystemBus(std::chrono::microseconds timeout);

/// Returns the path of a text below a prefix. The text becomes one element, escaped as by
/// sd_bus_path_encode(3).
std::string encodePath(const char* prefix, const std::string& text);
/// Returns the text of a path below a prefix, or nothing for any other path. Several paths may map
/// to the same text.
std::optional<std::string> decodePath(const char* prefix, const std::string& path);

} // namespace genv::dbus::raw
