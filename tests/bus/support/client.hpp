// SPDX-License-Identifier: LGPL-2.1-or-later
// A bus client with the uid of any user, inside the test's own process: the bus assigns the uid
// that the process had when it connected. It uses sd-bus directly, so that a test can send messages
// that no generated proxy would send.
#pragma once

#include "core/base/process.hpp"

#include <systemd/sd-bus.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace genv::tests {

/// Longer than any event takes that a test waits for, however busy the machine.
inline constexpr std::chrono::seconds eventDeadline{120};

inline constexpr core::Uid root = 0;
inline constexpr core::Uid alice = 1001;
inline constexpr core::Uid bob = 1002;
inline constexpr core::Uid carol = 1003;

inline constexpr const char* managerInterface = "dev.genv.Manager";
inline constexpr const char* environmentInterface = "dev.genv.Environment";
inline constexpr const char* deviceInterface = "dev.genv.Device";
inline constexpr const char* managerPath = "/dev/genv/Manager";

std::string environmentPath(const std::string& id);
std::string devicePath(std::uint32_t index);

struct Unref {
    void operator()(sd_bus* bus) const { sd_bus_flush_close_unref(bus); }
    void operator()(sd_bus_message* message) const { sd_bus_message_unref(message); }
    void operator()(sd_bus_slot* slot) const { sd_bus_slot_unref(slot); }
};
using Message = std::shared_ptr<sd_bus_message>;
using Slot = std::unique_ptr<sd_bus_slot, Unref>;

/// The answer to a call: values, or the name and text of an error.
struct Answer {
    std::string error; ///< empty if there is none
    std::string text;
    Message message;

    [[nodiscard]] bool ok() const { return error.empty(); }
    /// Reads values of one type each from the reply. Fails the test if the reply has no such value.
    [[nodiscard]] std::string readString() const;
    [[nodiscard]] std::uint32_t readUnsigned() const;
    [[nodiscard]] std::vector<std::uint32_t> readUnsignedList() const;
};

/// A call without an answer yet. The answer is available once Client::finish() has returned.
struct PendingCall {
    bool answered = false;
    Answer answer;
    Slot slot;
};

class Client {
  public:
    explicit Client(core::Uid uid);

    /// Sets whether polkit may ask for a password.
    void setInteractive(bool interactive);
    [[nodiscard]] std::string uniqueName() const;
    [[nodiscard]] sd_bus* bus() const { return bus_.get(); }

    /// Calls a method of the service. The arguments are those of sd_bus_message_append(3).
    template <typename... Arguments>
    Answer call(const std::string& path, const char* interface, const char* member,
                const char* signature = "", Arguments... arguments) {
        return send(prepare(path, interface, member, signature, arguments...));
    }
    template <typename... Arguments>
    Answer manager(const char* member, const char* signature = "", Arguments... arguments) {
        return call(managerPath, managerInterface, member, signature, arguments...);
    }
    template <typename... Arguments>
    Answer environment(const std::string& id, const char* member, const char* signature = "",
                       Arguments... arguments) {
        return call(environmentPath(id), environmentInterface, member, signature, arguments...);
    }
    /// Sends a call and does not wait for the answer.
    template <typename... Arguments>
    std::unique_ptr<PendingCall> start(const std::string& path, const char* interface,
                                       const char* member, const char* signature = "",
                                       Arguments... arguments) {
        return sendAsync(prepare(path, interface, member, signature, arguments...));
    }
    /// Processes messages until a call is answered.
    const Answer& finish(PendingCall& pending);

    /// Returns a property as text, as busctl would print it.
    std::string property(const std::string& path, const char* interface, const char* name);

    /// Passes signals that match to a callback from now on. process() calls the callback.
    [[nodiscard]] Slot listen(const std::string& match,
                              std::function<void(sd_bus_message*)> handler);
    /// Processes messages until the condition holds. Fails after 30 s.
    void processUntil(const std::function<bool()>& condition, const char* what);

    /// Makes a round trip to the bus. Afterwards the bus has handled everything that was sent
    /// before, and the callbacks have received every signal that it sent before.
    void ping();

    Answer send(const Message& message);
    std::unique_ptr<PendingCall> sendAsync(const Message& message);
    /// Creates a call of the service without sending it. The arguments are those of
    /// sd_bus_message_append(3).
    template <typename... Arguments>
    Message prepare(const std::string& path, const char* interface, const char* member,
                    const char* signature = "", Arguments... arguments) {
        Message message = newCall("dev.genv.Manager", path, interface, member);
        if (*signature != '\0')
            requireGood(sd_bus_message_append(message.get(), signature, arguments...), "append");
        return message;
    }
    Message newCall(const std::string& destination, const std::string& path, const char* interface,
                    const char* member);

  private:
    static void requireGood(int result, const char* what);

    std::unique_ptr<sd_bus, Unref> bus_;
    std::vector<std::unique_ptr<std::function<void(sd_bus_message*)>>> listeners_;
};

} // namespace genv::tests
