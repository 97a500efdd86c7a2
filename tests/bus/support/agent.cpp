// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/bus/support/agent.hpp"

#include <unistd.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace genv::tests {

namespace {

constexpr const char* authority = "org.freedesktop.PolicyKit1";
constexpr const char* authorityPath = "/org/freedesktop/PolicyKit1/Authority";
constexpr const char* authorityInterface = "org.freedesktop.PolicyKit1.Authority";
constexpr const char* agentPath = "/test/agent";

std::uint64_t ownStartTime() {
    std::ifstream stream("/proc/self/stat");
    const std::string text((std::istreambuf_iterator<char>(stream)),
                           std::istreambuf_iterator<char>());
    std::istringstream rest(text.substr(text.rfind(')') + 1));
    std::string word;
    for (int field = 3; field <= 22; ++field)
        rest >> word;
    return std::stoull(word);
}

void requireGood(int result, const char* what) {
    if (result < 0)
        throw std::runtime_error(std::string("agent: ") + what);
}

void appendSubject(sd_bus_message* message) {
    requireGood(sd_bus_message_append(message, "(sa{sv})", "unix-process", 3, "pid", "u",
                                      std::uint32_t(::getpid()), "start-time", "t", ownStartTime(),
                                      "uid", "i", 0),
                "subject");
}

} // namespace

Agent::Agent() {
    static const sd_bus_vtable vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_METHOD(
            "BeginAuthentication", "sssa{ss}sa(sa{sv})", "",
            [](sd_bus_message* message, void* data, sd_bus_error*) {
                static_cast<Agent*>(data)->begin(message);
                return 1;
            },
            SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD(
            "CancelAuthentication", "s", "",
            [](sd_bus_message* message, void* data, sd_bus_error*) {
                ++static_cast<Agent*>(data)->canceled;
                return sd_bus_reply_method_return(message, "");
            },
            SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_VTABLE_END,
    };
    sd_bus_slot* slot = nullptr;
    requireGood(sd_bus_add_object_vtable(client_.bus(), &slot, agentPath,
                                         "org.freedesktop.PolicyKit1.AuthenticationAgent", vtable,
                                         this),
                "object");
    object_.reset(slot);
    const Message call = client_.newCall(authority, authorityPath, authorityInterface,
                                         "RegisterAuthenticationAgent");
    appendSubject(call.get());
    requireGood(sd_bus_message_append(call.get(), "ss", "C", agentPath), "path");
    const Answer answer = client_.send(call);
    if (!answer.ok())
        throw std::runtime_error("agent: " + answer.text);
}

Agent::~Agent() {
    const Message call = client_.newCall(authority, authorityPath, authorityInterface,
                                         "UnregisterAuthenticationAgent");
    appendSubject(call.get());
    sd_bus_message_append(call.get(), "s", agentPath);
    client_.send(call);
}

void Agent::begin(sd_bus_message* message) {
    const char* action = nullptr;
    const char* text = nullptr;
    const char* icon = nullptr;
    requireGood(sd_bus_message_read(message, "sss", &action, &text, &icon), "action");
    Prompt prompt;
    prompt.action = action;
    prompt.message = text;
    requireGood(sd_bus_message_skip(message, "a{ss}"), "details");
    const char* cookie = nullptr;
    requireGood(sd_bus_message_read(message, "s", &cookie), "cookie");
    prompt.cookie = cookie;
    prompt.request = Message(sd_bus_message_ref(message), Unref{});
    prompts.push_back(std::move(prompt));
}

void Agent::answer(bool yes) {
    const Prompt& prompt = prompts.back();
    if (yes) {
        const Message call = client_.newCall(authority, authorityPath, authorityInterface,
                                             "AuthenticationAgentResponse2");
        requireGood(sd_bus_message_append(call.get(), "us(sa{sv})", 0U, prompt.cookie.c_str(),
                                          "unix-user", 1, "uid", "u", 0U),
                    "response");
        const Answer answer = client_.send(call);
        if (!answer.ok())
            throw std::runtime_error("agent: " + answer.text);
        requireGood(sd_bus_reply_method_return(prompt.request.get(), ""), "reply");
    } else {
        requireGood(sd_bus_reply_method_errorf(prompt.request.get(),
                                               "org.freedesktop.PolicyKit1.Error.Failed",
                                               "wrong password"),
                    "reply");
    }
    requireGood(sd_bus_flush(client_.bus()), "flush");
}

void Agent::processUntil(Client& client, const std::function<bool()>& condition, const char* what) {
    const auto deadline = std::chrono::steady_clock::now() + eventDeadline;
    while (!condition()) {
        const int own = sd_bus_process(client_.bus(), nullptr);
        const int theirs = sd_bus_process(client.bus(), nullptr);
        if (own < 0 || theirs < 0 || std::chrono::steady_clock::now() > deadline)
            throw std::runtime_error(std::string("waited in vain for ") + what);
        if (own == 0 && theirs == 0)
            std::this_thread::yield();
    }
}

} // namespace genv::tests
