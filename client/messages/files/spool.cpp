// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/messages/files/spool.hpp"

#include "client/messages/files/durable_file.hpp"
#include "core/base/text.hpp"

#include <charconv>
#include <cstdio>
#include <string_view>
#include <system_error>
#include <utility>

namespace genv::messages {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t maxEvent = 16384;
constexpr std::size_t maxReason = 512;

// Files of "genvctl notify test", which removes its own, have other names.
std::optional<std::uint64_t> numberOf(const fs::path& file, std::string_view suffix) {
    const std::string name = file.filename().native();
    if (!name.ends_with(suffix))
        return std::nullopt;
    std::uint64_t number = 0;
    const char* const end = name.data() + name.size() - suffix.size();
    const auto [stopped, error] = std::from_chars(name.data(), end, number);
    return error == std::errc() && stopped == end && number > 0 ? std::optional(number)
                                                                : std::nullopt;
}

} // namespace

Spool::Spool(fs::path folder) : folder_(std::move(folder)) {
    createFolder(folder_);
    load();
}

void Spool::load() {
    for (const auto& entry : fs::directory_iterator(folder_)) {
        if (const auto number = numberOf(entry.path(), ".event")) {
            next_ = std::max(next_, *number + 1);
            if (auto event = decodeEvent(readSmall(entry.path(), maxEvent).value_or("")))
                events_.emplace(*number, *std::move(event));
            else
                removeDurably(entry.path());
        }
    }
    loadBatch();
}

// A crash may have come between the file of the batch and the removal of its events.
void Spool::loadBatch() {
    for (const auto& entry : fs::directory_iterator(folder_)) {
        const auto number = numberOf(entry.path(), ".batch");
        if (!number)
            continue;
        next_ = std::max(next_, *number + 1);
        auto batch = readBatch(entry.path());
        if (!batch || batch_) {
            std::fprintf(stderr, "genv-notify: %s is not a message; it is removed\n",
                         core::escaped(entry.path().native(), 512).c_str());
            removeDurably(entry.path());
            continue;
        }
        batch_ = std::move(batch);
    }
    while (batch_ && !events_.empty() && events_.begin()->first <= batch_->last) {
        removeDurably(eventFile(events_.begin()->first));
        events_.erase(events_.begin());
    }
}

fs::path Spool::eventFile(std::uint64_t number) const {
    return folder_ / (std::to_string(number) + ".event");
}

void Spool::add(const MessageEvent& event) {
    writeDurably(eventFile(next_), encode(event));
    events_.emplace(next_++, event);
    while (events_.size() > maxEvents) {
        removeDurably(eventFile(events_.begin()->first));
        events_.erase(events_.begin());
        ++missing_;
    }
}

std::size_t Spool::size() const {
    return events_.size() + (batch_ ? batch_->events.size() : 0);
}

std::string Spool::instance() const {
    return std::to_string(batch_->last);
}

void Spool::saveBatch() const {
    writeBatch(batchFile(folder_, instance()), *batch_);
}

void Spool::makeBatch(core::WallTime now) {
    std::vector<MessageEvent> events;
    for (const auto& [number, event] : events_)
        events.push_back(event);
    batch_ = Batch{.last = events_.rbegin()->first,
                   .attempts = 0,
                   .next = now,
                   .missing = missing_,
                   .events = merged(events)};
    saveBatch();
    missing_ = 0;
    for (const auto& [number, event] : std::exchange(events_, {}))
        removeDurably(eventFile(number));
}

void Spool::beginAttempt(core::WallTime now) {
    ++batch_->attempts;
    batch_->next = now;
    saveBatch();
}

void Spool::postpone(core::WallTime next) {
    batch_->next = next;
    saveBatch();
}

bool Spool::isSent() const {
    return !fs::exists(batchFile(folder_, instance()));
}

std::string Spool::finishBatch() {
    const fs::path reason = reasonFile(folder_, instance());
    std::string text = readSmall(reason, maxReason).value_or("");
    removeDurably(reason);
    removeDurably(batchFile(folder_, instance()));
    batch_.reset();
    return text;
}

std::size_t countWaiting(const fs::path& folder) {
    std::size_t count = 0;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
        if (numberOf(entry.path(), ".event"))
            ++count;
        else if (numberOf(entry.path(), ".batch"))
            count += readBatch(entry.path()).value_or(Batch()).events.size();
    }
    return count;
}

void Spool::clear() {
    if (batch_)
        static_cast<void>(finishBatch());
    for (const auto& [number, event] : std::exchange(events_, {}))
        removeDurably(eventFile(number));
    missing_ = 0;
}

} // namespace genv::messages
