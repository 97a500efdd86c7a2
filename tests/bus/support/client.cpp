// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/bus/support/client.hpp"

#include <grp.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace genv::tests {

namespace {

// A raw system call, which changes this thread only. The C library's wrappers would change every
// thread.
void setOfThread(long call, long first, long second) {
    if (::syscall(call, first, second, -1) != 0)
        throw std::runtime_error(std::string("no other user: ") + std::strerror(errno));
}

std::vector<gid_t> groupsOf(const passwd& user) {
    int count = 64;
    std::vector<gid_t> groups(static_cast<std::size_t>(count));
    if (::getgrouplist(user.pw_name, user.pw_gid, groups.data(), &count) < 0)
        throw std::runtime_error("getgrouplist");
    groups.resize(static_cast<std::size_t>(count));
    return groups;
}

// Gives this thread the effective user and the groups of a login. Polkit 124 and later uses the
// groups of the process that connected to the bus. Earlier versions use the groups in the user
// database.
class Login {
  public:
    explicit Login(uid_t uid) : groups_(static_cast<std::size_t>(::getgroups(0, nullptr))) {
        if (::getgroups(static_cast<int>(groups_.size()), groups_.data()) < 0)
            throw std::runtime_error("getgroups");
        if (const passwd* user = ::getpwuid(uid)) {
            setGroups(groupsOf(*user));
            setOfThread(SYS_setresgid, -1, user->pw_gid);
        }
        setOfThread(SYS_setresuid, -1, uid);
    }
    Login(const Login&) = delete;
    Login& operator=(const Login&) = delete;
    ~Login() {
        setOfThread(SYS_setresuid, -1, 0);
        setOfThread(SYS_setresgid, -1, 0);
        setGroups(groups_);
    }

  private:
    static void setGroups(const std::vector<gid_t>& groups) {
        setOfThread(SYS_setgroups, static_cast<long>(groups.size()),
                    reinterpret_cast<long>(groups.data()));
    }

    std::vector<gid_t> groups_;
};

std::string encode(const char* prefix, const std::string& id) {
    char* path = nullptr;
    if (sd_bus_path_encode(prefix, id.c_str(), &path) < 0)
        throw std::runtime_error("sd_bus_path_encode");
    const std::unique_ptr<char, decltype(&std::free)> owner(path, &std::free);
    return path;
}

Answer toAnswer(sd_bus_message* reply) {
    Answer answer;
    if (const sd_bus_error* error = sd_bus_message_get_error(reply)) {
        answer.error = error->name;
        answer.text = error->message != nullptr ? error->message : "";
    }
    answer.message = Message(sd_bus_message_ref(reply), Unref{});
    return answer;
}

} // namespace

std::string environmentPath(const std::string& id) {
    return encode("/dev/genv/Manager/environment", id);
}

std::string devicePath(std::uint32_t index) {
    return "/dev/genv/Manager/device/" + std::to_string(index);
}

std::string Answer::readString() const {
    EXPECT_EQ(error, "") << text;
    const char* value = "";
    if (!ok() || sd_bus_message_read(message.get(), "s", &value) <= 0)
        throw std::runtime_error("no string in the answer: " + error + ": " + text);
    return value;
}

std::uint32_t Answer::readUnsigned() const {
    EXPECT_EQ(error, "") << text;
    std::uint32_t value = 0;
    if (!ok() || sd_bus_message_read(message.get(), "u", &value) <= 0)
        throw std::runtime_error("no number in the answer: " + error + ": " + text);
    return value;
}

std::vector<std::uint32_t> Answer::readUnsignedList() const {
    EXPECT_EQ(error, "") << text;
    const void* data = nullptr;
    std::size_t bytes = 0;
    if (!ok() || sd_bus_message_read_array(message.get(), 'u', &data, &bytes) <= 0)
        throw std::runtime_error("no list in the answer: " + error + ": " + text);
    std::vector<std::uint32_t> values(bytes / sizeof(std::uint32_t));
    if (bytes > 0)
        std::memcpy(values.data(), data, bytes);
    return values;
}

void Client::requireGood(int result, const char* what) {
    if (result < 0)
        throw std::runtime_error(std::string(what) + ": " + std::strerror(-result));
}

Client::Client(core::Uid uid) {
    const Login login(uid);
    sd_bus* bus = nullptr;
    requireGood(sd_bus_open_system(&bus), "connect");
    bus_.reset(bus);
    const char* name = nullptr;
    requireGood(sd_bus_get_unique_name(bus, &name), "connect"); // waits for the authentication
}

void Client::setInteractive(bool interactive) {
    requireGood(sd_bus_set_allow_interactive_authorization(bus_.get(), interactive ? 1 : 0),
                "interactive");
}

std::string Client::uniqueName() const {
    const char* name = nullptr;
    requireGood(sd_bus_get_unique_name(bus_.get(), &name), "unique name");
    return name;
}

Message Client::newCall(const std::string& destination, const std::string& path,
                        const char* interface, const char* member) {
    sd_bus_message* message = nullptr;
    requireGood(sd_bus_message_new_method_call(bus_.get(), &message, destination.c_str(),
                                               path.c_str(), interface, member),
                "new call");
    return {message, Unref{}};
}

Answer Client::send(const Message& message) {
    sd_bus_error error{};
    sd_bus_message* reply = nullptr;
    const int result = sd_bus_call(bus_.get(), message.get(), 0, &error, &reply);
    Answer answer;
    if (result < 0) {
        answer.error = error.name != nullptr ? error.name : std::strerror(-result);
        answer.text = error.message != nullptr ? error.message : "";
    } else {
        answer.message = Message(reply, Unref{});
    }
    sd_bus_error_free(&error);
    return answer;
}

std::unique_ptr<PendingCall> Client::sendAsync(const Message& message) {
    auto pending = std::make_unique<PendingCall>();
    sd_bus_slot* slot = nullptr;
    requireGood(sd_bus_call_async(
                    bus_.get(), &slot, message.get(),
                    [](sd_bus_message* reply, void* data, sd_bus_error*) {
                        auto* call = static_cast<PendingCall*>(data);
                        call->answer = toAnswer(reply);
                        call->answered = true;
                        return 0;
                    },
                    pending.get(), std::uint64_t{150} * 1'000'000),
                "call");
    pending->slot.reset(slot);
    requireGood(sd_bus_flush(bus_.get()), "flush");
    return pending;
}

const Answer& Client::finish(PendingCall& pending) {
    processUntil([&] { return pending.answered; }, "an answer");
    return pending.answer;
}

std::string Client::property(const std::string& path, const char* interface, const char* name) {
    const Answer answer =
        call(path, "org.freedesktop.DBus.Properties", "Get", "ss", interface, name);
    if (!answer.ok())
        return answer.error;
    sd_bus_message* message = answer.message.get();
    const char* contents = nullptr;
    char type = 0;
    requireGood(sd_bus_message_peek_type(message, &type, &contents), "peek");
    requireGood(sd_bus_message_enter_container(message, 'v', contents), "enter");
    const std::string signature = contents;
    if (signature == "s") {
        const char* text = nullptr;
        requireGood(sd_bus_message_read(message, "s", &text), "read");
        return text;
    }
    if (signature == "au") {
        std::string text;
        requireGood(sd_bus_message_enter_container(message, 'a', "u"), "enter");
        for (std::uint32_t value = 0; sd_bus_message_read(message, "u", &value) > 0;)
            text += (text.empty() ? "" : ",") + std::to_string(value);
        return text;
    }
    if (signature == "as") {
        std::string text;
        requireGood(sd_bus_message_enter_container(message, 'a', "s"), "enter");
        for (const char* value = nullptr; sd_bus_message_read(message, "s", &value) > 0;)
            text += (text.empty() ? "" : ",") + std::string(value);
        return text;
    }
    union {
        std::uint64_t t;
        std::uint32_t u;
        std::int32_t i;
    } value{};
    requireGood(sd_bus_message_read_basic(message, signature.at(0), &value), "read");
    switch (signature.at(0)) {
    case 't':
        return std::to_string(value.t);
    case 'i':
        return std::to_string(value.i);
    default:
        return std::to_string(value.u);
    }
}

Slot Client::listen(const std::string& match, std::function<void(sd_bus_message*)> handler) {
    listeners_.push_back(
        std::make_unique<std::function<void(sd_bus_message*)>>(std::move(handler)));
    sd_bus_slot* slot = nullptr;
    requireGood(sd_bus_add_match(
                    bus_.get(), &slot, match.c_str(),
                    [](sd_bus_message* message, void* data, sd_bus_error*) {
                        (*static_cast<std::function<void(sd_bus_message*)>*>(data))(message);
                        return 0;
                    },
                    listeners_.back().get()),
                "match");
    return Slot(slot);
}

void Client::processUntil(const std::function<bool()>& condition, const char* what) {
    const auto deadline = std::chrono::steady_clock::now() + eventDeadline;
    while (!condition()) {
        const int result = sd_bus_process(bus_.get(), nullptr);
        requireGood(result, "process");
        if (result > 0)
            continue;
        if (std::chrono::steady_clock::now() > deadline)
            throw std::runtime_error(std::string("waited in vain for ") + what);
        requireGood(sd_bus_wait(bus_.get(), 1'000'000), "wait");
    }
}

void Client::ping() {
    send(newCall("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus.Peer",
                 "Ping"));
    while (sd_bus_process(bus_.get(), nullptr) > 0) {
    }
}

} // namespace genv::tests
