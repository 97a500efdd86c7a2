// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/journal/reader.hpp"

#include "service/journal/contract.hpp"
#include "service/journal/event_row.hpp"
#include "service/journal/unreadable_pages.hpp"

#include <systemd/sd-journal.h>
#include <systemd/sd-login.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <system_error>

namespace genv::service::journal {

namespace {

// The size up to which compressed fields are unpacked. No field of the service is longer.
constexpr std::size_t maxFieldSize = 16 * std::size_t{1024};

// Try twice: if a file is truncated during a read, libsystemd does not open it the next time.
constexpr int maxReads = 2;

struct Closed {
    void operator()(sd_journal* journal) const { sd_journal_close(journal); }
};
using Journal = std::unique_ptr<sd_journal, Closed>;

struct Freed {
    void operator()(char* text) const noexcept { std::free(text); }
};
using CString = std::unique_ptr<char, Freed>;

[[noreturn]] void refuse(int error) {
    core::fail(core::ErrorCode::NotSupported, "the journal cannot be read: {}",
               std::generic_category().message(-error));
}

int checked(int result) {
    if (result < 0)
        refuse(result);
    return result;
}

Journal open(const Source& source) {
    sd_journal* raw = nullptr;
    checked(source.directory.empty()
                ? sd_journal_open(&raw, SD_JOURNAL_LOCAL_ONLY | SD_JOURNAL_SYSTEM)
                : sd_journal_open_directory(&raw, source.directory.c_str(), SD_JOURNAL_SYSTEM));
    Journal journal(raw);
    // A journal without any record and a journal with unreadable files look the same.
    checked(sd_journal_seek_head(raw));
    if (checked(sd_journal_next(raw)) == 0)
        core::fail(core::ErrorCode::NotSupported,
                   "genvd can read no journal on this machine, so there is no history; see "
                   "\"Storage=\" in journald.conf(5)");
    checked(sd_journal_set_data_threshold(raw, maxFieldSize));
    return journal;
}

void match(sd_journal* journal, std::string_view field, std::string_view value) {
    const std::string text = fmt::format("{}={}", field, value);
    checked(sd_journal_add_match(journal, text.data(), text.size()));
}

// Matches on different fields are combined with AND, and matches on the same field with OR. A
// user's events are those that concern the user's environments or that the user caused, so this
// condition forms its own group.
void addMatches(sd_journal* journal, const Source& source, const core::HistoryFilter& query) {
    for (const Kind& kind : kinds) {
        const bool isWanted =
            query.kinds.empty() ||
            std::find(query.kinds.begin(), query.kinds.end(), kind.name) != query.kinds.end();
        if (isWanted)
            match(journal, field::messageId, kind.messageId);
    }
    match(journal, "_UID", "0");
    if (source.unit)
        match(journal, "_SYSTEMD_UNIT", *source.unit);
    if (query.environment)
        match(journal, field::environment, *query.environment);
    if (!query.uid)
        return;
    checked(sd_journal_add_conjunction(journal));
    match(journal, field::uid, std::to_string(*query.uid));
    checked(sd_journal_add_disjunction(journal));
    match(journal, field::callerUid, std::to_string(*query.uid));
}

core::WallTime timeOf(sd_journal* journal) {
    std::uint64_t time = 0;
    checked(sd_journal_get_realtime_usec(journal, &time));
    return core::fromMicroseconds(time);
}

// Seeks to the first matching record. Returns whether there is one.
bool begin(sd_journal* journal, const core::HistoryFilter& query) {
    if (!query.after.empty()) {
        if (sd_journal_seek_cursor(journal, query.after.c_str()) < 0)
            core::fail(core::ErrorCode::InvalidArgs,
                       "invalid cursor in \"after\": the history has no such event");
        bool found = checked(sd_journal_next(journal)) > 0;
        if (found && sd_journal_test_cursor(journal, query.after.c_str()) > 0)
            found = checked(sd_journal_next(journal)) > 0;
        if (!found || timeOf(journal) >= query.since)
            return found;
    }
    checked(sd_journal_seek_realtime_usec(journal, core::toMicroseconds(query.since)));
    return checked(sd_journal_next(journal)) > 0;
}

// Returns nothing if the record is damaged.
std::optional<Fields> fieldsOf(sd_journal* journal) {
    Fields fields;
    const void* data = nullptr;
    std::size_t length = 0;
    sd_journal_restart_data(journal);
    int result = 0;
    while ((result = sd_journal_enumerate_available_data(journal, &data, &length)) > 0) {
        const std::string_view text(static_cast<const char*>(data), length);
        const std::size_t equals = text.find('=');
        if (equals != std::string_view::npos && isOfInterest(text.substr(0, equals)))
            fields.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
    return result < 0 ? std::nullopt : std::optional(std::move(fields));
}

// The journal can only match whole values, and an event may concern several devices.
bool isAbout(const core::HistoryRow& row, const std::string& device) {
    return std::any_of(row.details.begin(), row.details.end(), [&](const auto& detail) {
        if (const auto* uuids = std::get_if<std::vector<std::string>>(&detail.second))
            return std::find(uuids->begin(), uuids->end(), device) != uuids->end();
        const auto* uuid = std::get_if<std::string>(&detail.second);
        return detail.first == "uuid" && uuid != nullptr && *uuid == device;
    });
}

std::optional<core::HistoryRow> currentRow(sd_journal* journal, const core::HistoryFilter& query) {
    const auto fields = fieldsOf(journal);
    auto row = fields ? toRow(*fields) : std::nullopt;
    if (!row || (query.device && !isAbout(*row, *query.device)))
        return std::nullopt;
    char* cursor = nullptr;
    checked(sd_journal_get_cursor(journal, &cursor));
    row->cursor = CString(cursor).get();
    row->time = timeOf(journal);
    return row;
}

core::HistoryPage readAll(sd_journal* journal, const core::HistoryFilter& query,
                          const Bounds& bounds, const std::atomic<bool>& stop) {
    const auto deadline = std::chrono::steady_clock::now() + bounds.time;
    core::HistoryPage page;
    std::size_t bytes = 0;
    for (bool found = begin(journal, query); found && timeOf(journal) <= query.until;
         found = checked(sd_journal_next(journal)) > 0) {
        if (auto row = currentRow(journal, query)) {
            bytes += sizeOf(*row);
            page.rows.push_back(std::move(*row));
        }
        if (page.rows.size() >= query.limit || bytes >= bounds.bytes || stop)
            break;
        if (std::chrono::steady_clock::now() < deadline)
            continue;
        if (page.rows.empty())
            core::fail(core::ErrorCode::Timeout,
                       "reading the journal takes too long; ask for a shorter time, or for one "
                       "user, environment or kind of event");
        break;
    }
    return page;
}

core::HistoryPage readOnce(const Source& source, const core::HistoryFilter& query,
                           const Bounds& bounds, const std::atomic<bool>& stop) {
    try {
        const Journal journal = open(source);
        addMatches(journal.get(), source, query);
        return readAll(journal.get(), query, bounds, stop);
    } catch (const core::Error& error) {
        return {{}, error};
    } catch (const std::exception& error) {
        return {{}, core::Error(core::ErrorCode::Internal, error.what())};
    }
}

} // namespace

Source Source::system() {
    char* unit = nullptr;
    if (sd_pid_get_unit(0, &unit) < 0)
        return {};
    return {{}, std::string(CString(unit).get())};
}

core::HistoryPage read(const Source& source, const core::HistoryFilter& query, const Bounds& bounds,
                       const std::atomic<bool>& stop) {
    for (int i = 0; i < maxReads; ++i) {
        const UnreadablePages unreadable;
        core::HistoryPage page = readOnce(source, query, bounds, stop);
        if (!unreadable.found())
            return page;
    }
    return {{},
            core::Error(core::ErrorCode::NotSupported,
                        "the journal cannot be read: one of its files was cut short, or the disk "
                        "does not give all of it; \"journalctl --verify\" says which")};
}

} // namespace genv::service::journal
