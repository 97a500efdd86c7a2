// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/messages/delivery/unit_sender.hpp"

#include "client/descriptor_functions.hpp"
#include "client/jobs/daemon/wall_clock.hpp"
#include "client/messages/files/batch.hpp"
#include "client/messages/model/mail.hpp"
#include "client/search_path.hpp"
#include "client/transient_unit.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

namespace genv::messages {

namespace {

using client::Descriptor;

constexpr const char* managerName = "org.freedesktop.systemd1";
constexpr const char* managerPath = "/org/freedesktop/systemd1";
constexpr const char* managerInterface = "org.freedesktop.systemd1.Manager";
constexpr std::uint64_t timeToSend = 60'000'000; // µs

std::string unitOf(const Parcel& parcel) {
    return parcel.channel == Channel::Webhook
               ? fmt::format("genv-notify-send@{}.service", parcel.instance)
               : fmt::format("genv-notify-{}-{}.service", wordOf(parcel.channel), parcel.instance);
}

// Mail servers install it outside of the search path of users.
std::string findSendmail() {
    std::vector<std::string> folders = client::searchFolders();
    folders.insert(folders.end(), {"/usr/sbin", "/usr/lib"});
    for (const std::string& folder : folders) {
        std::string path = folder + "/sendmail";
        if (folder.starts_with('/') && ::access(path.c_str(), X_OK) == 0)
            return path;
    }
    throw std::runtime_error("there is no sendmail: install a mail-transport-agent, or "
                             "something like msmtp-mta");
}

/// What a transient unit runs.
struct Program {
    std::vector<std::string> words; ///< the first one is a path
    std::string input;
};

Program programOf(const Parcel& parcel, const DeliveryTarget& target) {
    if (parcel.channel == Channel::Command)
        return {{"/bin/sh", "-c", target.value}, jsonOf(parcel.contents) + '\n'};
    return {{findSendmail(), "-t", "-i"},
            mailOf(letterOf(parcel.contents), target.value, jobs::wallClock())};
}

// A file in memory, which the unit reads from its start.
Descriptor fileWith(const std::string& text) {
    Descriptor file(::memfd_create("genv-message", MFD_CLOEXEC));
    if (!file.isOpen() || !client::writeAll(file.get(), text) ||
        ::lseek(file.get(), 0, SEEK_SET) != 0)
        throw std::system_error(errno, std::generic_category(), "a file in memory");
    return file;
}

// The manager would expand variables in the words, and shells do that themselves.
std::vector<sdbus::Struct<std::string, std::vector<std::string>, std::vector<std::string>>>
commandOf(const std::vector<std::string>& words) {
    return {{words.front(), words, std::vector<std::string>{"no-env-expand"}}};
}

client::UnitProperties propertiesOf(const Parcel& parcel, const Program& program, int input) {
    return {
        client::unitProperty("Description",
                             fmt::format("Message of genv ({})", wordOf(parcel.channel))),
        client::unitProperty("Type", std::string("oneshot")),
        client::unitProperty("CollectMode", std::string("inactive-or-failed")),
        client::unitProperty("Slice", std::string("background.slice")),
        client::unitProperty("TimeoutStartUSec", timeToSend),
        client::unitProperty("StandardInputFileDescriptor", sdbus::UnixFd(input)),
        client::unitProperty("StandardOutput", std::string("journal")),
        client::unitProperty("StandardError", std::string("journal")),
        client::unitProperty("ExecStartEx", commandOf(program.words)),
        client::unitProperty(
            "ExecStartPostEx",
            commandOf({"/bin/rm", "-f", "--", batchFile(parcel.folder, parcel.instance).native()})),
    };
}

} // namespace

UnitSender::UnitSender(const event::LoopBus& bus) : bus_(bus) {
    bus_.listen(
        fmt::format("type='signal',sender='{}',path='{}',interface='{}',member='JobRemoved'",
                    managerName, managerPath, managerInterface),
        [this](sdbus::Message& signal) { onJobRemoved(signal); });
    // Without a subscriber, the manager emits no signals.
    bus_.send(bus_.call(managerName, managerPath, managerInterface, "Subscribe"),
              event::LoopBus::endless, [](const event::BusReply&) {});
}

void UnitSender::send(const Parcel& parcel, const DeliveryTarget& target, Ended ended) {
    const std::string unit = unitOf(parcel);
    running_[unit] = std::move(ended);
    try {
        if (parcel.channel == Channel::Webhook)
            startUnit(unit);
        else
            startTransient(unit, parcel, target);
    } catch (const std::exception& error) {
        finish(unit, error.what());
    }
}

void UnitSender::startUnit(const std::string& unit) {
    auto call = bus_.call(managerName, managerPath, managerInterface, "StartUnit");
    call << unit << "replace";
    bus_.send(call, event::LoopBus::endless, [this, unit](const event::BusReply& reply) {
        if (reply.isError())
            finish(unit, reply.errorText());
    });
}

// If the unit is there, a former process of this program has started it, and its end follows.
void UnitSender::startTransient(const std::string& unit, const Parcel& parcel,
                                const DeliveryTarget& target) {
    const Program program = programOf(parcel, target);
    const Descriptor input = fileWith(program.input);
    auto call = bus_.call(managerName, managerPath, managerInterface, "StartTransientUnit");
    client::writeTransientUnit(call, unit, propertiesOf(parcel, program, input.get()));
    bus_.send(call, event::LoopBus::endless, [this, unit](const event::BusReply& reply) {
        if (reply.isError("org.freedesktop.systemd1.UnitExists"))
            startUnit(unit);
        else if (reply.isError())
            finish(unit, reply.errorText());
    });
}

void UnitSender::onJobRemoved(sdbus::Message& signal) {
    std::uint32_t id = 0;
    sdbus::ObjectPath job;
    std::string unit;
    std::string result;
    signal >> id >> job >> unit >> result;
    finish(unit,
           result == "done" ? "" : fmt::format("\"journalctl --user -u '{}'\" says why", unit));
}

void UnitSender::finish(const std::string& unit, const std::string& trouble) {
    const auto found = running_.find(unit);
    if (found == running_.end())
        return;
    const Ended ended = std::move(found->second);
    running_.erase(found);
    ended(trouble);
}

} // namespace genv::messages
