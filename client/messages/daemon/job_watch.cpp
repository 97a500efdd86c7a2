// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/messages/daemon/job_watch.hpp"

#include "client/jobs/daemon/wall_clock.hpp"
#include "client/messages/files/durable_file.hpp"
#include "dbus/contract/jobs_names.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <string_view>
#include <utility>

namespace genv::messages {

namespace {

namespace contract = dbus::contract;

constexpr const char* jobsInterface = "dev.genv.Jobs";
// genv-jobs lists jobs that ended within a day.
constexpr std::chrono::hours remembered{26};
constexpr std::size_t maxFile = std::size_t{4} << 20U;

ToldEnds readTold(const std::filesystem::path& file) {
    const auto text = readSmall(file, maxFile);
    return text ? ToldEnds(*text, jobs::wallClock()) : ToldEnds(jobs::wallClock());
}

void readMember(dbus::raw::Reader& reader, std::string_view key, JobFacts& job) {
    if (key == "number")
        reader.readVariant("u", job.number);
    else if (key == "name")
        reader.readVariant("s", job.name);
    else if (key == "state")
        reader.readVariant("s", job.state);
    else if (key == "reason")
        reader.readVariant("s", job.reason);
    else if (key == "gpus")
        reader.readVariant("u", job.gpus);
    else if (key == "tasks")
        reader.readVariant("u", job.tasks);
    else if (key == "done")
        reader.readVariant("u", job.done);
    else if (key == "failed")
        reader.readVariant("u", job.failed);
    else if (key == "canceled")
        reader.readVariant("u", job.canceled);
    else if (key == "started")
        reader.readVariant("t", job.started);
    else if (key == "ended")
        reader.readVariant("t", job.ended);
    else if (key == "status")
        reader.readVariant("i", job.status);
    else if (key == "array")
        reader.readVariant("b", job.isArray);
    else
        reader.skipVariant();
}

// Reads a dictionary a{sv}.
JobFacts readJob(dbus::raw::Reader& reader) {
    JobFacts job;
    reader.array("{sv}", [&] {
        reader.entry("sv", [&] {
            const std::string_view key = reader.readText('s');
            readMember(reader, key, job);
        });
    });
    return job;
}

} // namespace

ToldEnds::ToldEnds(const std::string& text, core::WallTime now) : since_(now) {
    const auto json = nlohmann::json::parse(text, nullptr, false);
    if (!json.is_object())
        return;
    try {
        auto ends = json.at("ends").get<std::vector<std::pair<std::uint32_t, std::uint64_t>>>();
        since_ = core::fromMicroseconds(json.at("since").get<std::uint64_t>());
        ends_.insert(ends.begin(), ends.end());
    } catch (const nlohmann::json::exception&) {
        ends_.clear();
    }
}

bool ToldEnds::add(const JobFacts& job) {
    if (core::fromMicroseconds(job.ended) <= since_)
        return false;
    return std::exchange(ends_[job.number], job.ended) != job.ended;
}

void ToldEnds::forgetBefore(core::WallTime time) {
    std::erase_if(ends_,
                  [time](const auto& each) { return core::fromMicroseconds(each.second) < time; });
    since_ = std::max(since_, time);
}

std::string ToldEnds::encode() const {
    return nlohmann::json{{"since", core::toMicroseconds(since_)},
                          {"ends", std::vector(ends_.begin(), ends_.end())}}
        .dump();
}

JobWatch::JobWatch(const event::LoopBus& bus, std::filesystem::path file,
                   std::function<void(const MessageEvent&)> ended, std::function<void()> heard)
    : bus_(bus), file_(std::move(file)), ended_(std::move(ended)), heard_(std::move(heard)),
      told_(readTold(file_)) {
    save();
    bus_.listen(fmt::format("type='signal',sender='{0}',interface='{0}',member='JobChanged',"
                            "path='{1}'",
                            jobsInterface, contract::jobsPath),
                [this](sdbus::Message& signal) { onChanged(signal); });
    bus_.watchName(contract::jobsBusName, [this](const std::string& owner) { onOwner(owner); });
}

// A genv-jobs that has just started tells nothing about the ends that it found.
void JobWatch::onOwner(const std::string& owner) {
    if (!owner.empty())
        catchUp();
}

void JobWatch::catchUp() {
    auto call = bus_.call(contract::jobsBusName, contract::jobsPath, jobsInterface, "List");
    call << std::map<std::string, sdbus::Variant>();
    bus_.send(call, event::LoopBus::endless, [this](const event::BusReply& reply) {
        if (reply.isError())
            return; // its next start is heard
        dbus::raw::Reader reader(reply.message());
        reader.array("a{sv}", [&] { tell(readJob(reader)); });
        save();
        heard_();
    });
}

void JobWatch::onChanged(sdbus::Message& signal) {
    std::uint32_t job = 0;
    std::string word;
    signal >> job >> word;
    heard_();
    if (word == "done" || word == "failed" || word == "lost" || word == "canceled")
        ask(job);
}

void JobWatch::ask(std::uint32_t job) {
    auto call = bus_.call(contract::jobsBusName, contract::jobsPath, jobsInterface, "Get");
    call << job;
    bus_.send(call, event::LoopBus::endless, [this](const event::BusReply& reply) {
        if (reply.isError())
            return;
        dbus::raw::Reader reader(reply.message());
        tell(readJob(reader));
        save();
    });
}

// The message is written first: after a crash in between it may be told twice, but is not lost.
void JobWatch::tell(const JobFacts& job) {
    const auto event = eventOf(job);
    if (event && told_.add(job))
        ended_(*event);
}

void JobWatch::save() {
    told_.forgetBefore(jobs::wallClock() - remembered);
    writeDurably(file_, told_.encode());
}

} // namespace genv::messages
