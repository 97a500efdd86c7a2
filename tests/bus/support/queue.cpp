// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/bus/support/queue.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace genv::tests {

namespace {

// Returns the text of a variant's value, or an empty text for types that no notice has.
std::string readVariant(sd_bus_message* message) {
    const char* contents = nullptr;
    sd_bus_message_peek_type(message, nullptr, &contents);
    const std::string signature = contents;
    sd_bus_message_enter_container(message, 'v', contents);
    std::string text;
    if (signature == "s") {
        const char* value = nullptr;
        sd_bus_message_read(message, "s", &value);
        text = value;
    } else if (signature == "u") {
        std::uint32_t value = 0;
        sd_bus_message_read(message, "u", &value);
        text = std::to_string(value);
    } else if (signature == "t") {
        std::uint64_t value = 0;
        sd_bus_message_read(message, "t", &value);
        text = std::to_string(value);
    } else if (signature == "d") {
        double value = 0;
        sd_bus_message_read(message, "d", &value);
        text = std::to_string(value);
    } else if (signature == "au") {
        sd_bus_message_enter_container(message, 'a', "u");
        for (std::uint32_t value = 0; sd_bus_message_read(message, "u", &value) > 0;)
            text += (text.empty() ? "" : ",") + std::to_string(value);
        sd_bus_message_exit_container(message);
    } else if (signature == "as") {
        sd_bus_message_enter_container(message, 'a', "s");
        for (const char* value = nullptr; sd_bus_message_read(message, "s", &value) > 0;)
            text += (text.empty() ? "" : ",") + std::string(value);
        sd_bus_message_exit_container(message);
    } else {
        sd_bus_message_skip(message, signature.c_str());
    }
    sd_bus_message_exit_container(message);
    return text;
}

// Reads the entries of an a{sv} that was entered.
std::map<std::string, std::string> readDictionary(sd_bus_message* message) {
    std::map<std::string, std::string> entries;
    while (sd_bus_message_enter_container(message, 'e', "sv") > 0) {
        const char* name = nullptr;
        sd_bus_message_read(message, "s", &name);
        entries[name] = readVariant(message);
        sd_bus_message_exit_container(message);
    }
    return entries;
}

} // namespace

std::vector<Waiting> queueOf(Client& client) {
    const Answer answer = client.manager("ListQueue");
    if (!answer.ok())
        throw std::runtime_error("ListQueue: " + answer.error);
    std::vector<Waiting> rows;
    sd_bus_message* message = answer.message.get();
    sd_bus_message_enter_container(message, 'a', "(tsuut)");
    Waiting row;
    const char* environment = nullptr;
    while (sd_bus_message_read(message, "(tsuut)", &row.ticket, &environment, &row.uid, &row.count,
                               &row.since) > 0) {
        row.environment = environment;
        rows.push_back(row);
    }
    return rows;
}

std::vector<Description> describedQueue(Client& client) {
    const Answer answer = client.manager("DescribeQueue");
    if (!answer.ok())
        throw std::runtime_error("DescribeQueue: " + answer.error);
    std::vector<Description> rows;
    sd_bus_message* message = answer.message.get();
    sd_bus_message_enter_container(message, 'a', "a{sv}");
    while (sd_bus_message_enter_container(message, 'a', "{sv}") > 0) {
        rows.push_back(readDictionary(message));
        sd_bus_message_exit_container(message);
    }
    return rows;
}

std::vector<std::string> waitingIn(Client& client) {
    std::vector<std::string> ids;
    for (const Waiting& row : queueOf(client))
        ids.push_back(row.environment);
    return ids;
}

std::map<std::uint32_t, std::string> holdersOf(Client& client) {
    const Answer answer = client.manager("ListAttachments");
    if (!answer.ok())
        throw std::runtime_error("ListAttachments: " + answer.error);
    std::map<std::uint32_t, std::string> held;
    sd_bus_message* message = answer.message.get();
    sd_bus_message_enter_container(message, 'a', "(usstt)");
    std::uint32_t device = 0;
    const char* environment = nullptr;
    const char* name = nullptr;
    std::uint64_t share = 0;
    std::uint64_t since = 0;
    while (sd_bus_message_read(message, "(usstt)", &device, &environment, &name, &share, &since) >
           0)
        EXPECT_TRUE(held.emplace(device, environment).second) << "device " << device << " twice";
    return held;
}

RecordedSignals::RecordedSignals(Client& client)
    : slot_(client.listen("type='signal',interface='dev.genv.Manager'",
                          [this](sd_bus_message* message) { onSignal(message); })) {}

const RecordedSignals::Notice* RecordedSignals::notice(const std::string& kind) const {
    for (const Notice& notice : notices) {
        if (notice.kind == kind)
            return &notice;
    }
    return nullptr;
}

void RecordedSignals::onSignal(sd_bus_message* message) {
    const std::string member = sd_bus_message_get_member(message);
    const char* environment = nullptr;
    if (member == "QueueChanged") {
        ++queueChanges;
    } else if (member == "EnvironmentRemoved") {
        sd_bus_message_read(message, "s", &environment);
        removed.emplace_back(environment);
    } else if (member == "Detached") {
        std::uint32_t device = 0;
        const char* reason = nullptr;
        sd_bus_message_read(message, "sus", &environment, &device, &reason);
        detached.push_back(std::string(environment) + " " + std::to_string(device) + " " + reason);
    } else if (member == "Notice") {
        Notice notice;
        const char* kind = nullptr;
        sd_bus_message_read(message, "uss", &notice.uid, &kind, &environment);
        notice.kind = kind;
        notice.environment = environment;
        sd_bus_message_enter_container(message, 'a', "{sv}");
        notice.details = readDictionary(message);
        notices.push_back(std::move(notice));
    }
}

} // namespace genv::tests
