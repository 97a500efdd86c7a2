// SPDX-License-Identifier: LGPL-2.1-or-later
// The conversion of journal records to events, the records that are not events, and a journal that
// cannot be read.
#include "service/journal/contract.hpp"
#include "service/journal/event_row.hpp"
#include "service/journal/reader.hpp"
#include "tests/history/journal_folder.hpp"

#include <gtest/gtest.h>

#include <string>

namespace genv::tests {
namespace {

using service::journal::Fields;
using service::journal::toRow;

Fields attachedRecord() {
    return {{"MESSAGE_ID", "abbad66f316f4f20bd8708fc8c055508"},
            {"MESSAGE", "environment 58 was attached"},
            {"GENV_ENVIRONMENT", "58"},
            {"GENV_UID", "1001"}};
}

Fields with(Fields fields, const char* name, std::string value) {
    fields.emplace_back(name, std::move(value));
    return fields;
}

const core::HistoryValue* find(const core::HistoryRow& row, std::string_view key) {
    for (const auto& [name, value] : row.details) {
        if (name == key)
            return &value;
    }
    return nullptr;
}

TEST(EventRow, HasEachFieldOfTheContractByItsNameAndType) {
    const std::vector<std::tuple<std::string_view, const char*, const char*, core::HistoryValue>>
        table{
            {service::journal::field::environmentName, "my job", "name", std::string("my job")},
            {service::journal::field::job, "12", "job", std::uint32_t{12}},
            {service::journal::field::user, "alice", "user", std::string("alice")},
            {service::journal::field::device, "3", "device", std::uint32_t{3}},
            {service::journal::field::device, "0,3", "devices", std::vector<std::uint32_t>{0, 3}},
            {service::journal::field::deviceUuid, "GPU-1", "uuid", std::string("GPU-1")},
            {service::journal::field::deviceUuid, "GPU-1,GPU-2", "uuids",
             std::vector<std::string>{"GPU-1", "GPU-2"}},
            {service::journal::field::deviceModel, "A100", "model", std::string("A100")},
            {service::journal::field::share, "4000000000", "share", std::uint64_t{4'000'000'000}},
            {service::journal::field::overSubscribed, "1", "over-subscribed", true},
            {service::journal::field::reason, "admin", "reason", std::string("admin")},
            {service::journal::field::callerUid, "0", "caller", std::uint32_t{0}},
            {service::journal::field::callerUser, "root", "caller-user", std::string("root")},
            {service::journal::field::callerLogin, "1001", "caller-login", std::uint32_t{1001}},
            {service::journal::field::callerLoginUser, "alice", "caller-login-user",
             std::string("alice")},
            {service::journal::field::method, "dev.genv.Device.Detach", "method",
             std::string("dev.genv.Device.Detach")},
            {service::journal::field::action, "a", "action", std::string("a")},
            {service::journal::field::error, "e", "error", std::string("e")},
            {service::journal::field::pid, "4711", "pid", std::uint32_t{4711}},
            {service::journal::field::command, "python3", "command", std::string("python3")},
            {service::journal::field::isolation, "user", "isolation", std::string("user")},
            {service::journal::field::rule, "env-memory", "rule", std::string("env-memory")},
            {service::journal::field::health, "xid-79", "health", std::string("xid-79")},
            {service::journal::field::count, "2", "count", std::uint32_t{2}},
            {service::journal::field::waited, "1", "waited", std::uint64_t{1}},
            {service::journal::field::held, "2", "held", std::uint64_t{2}},
            {service::journal::field::since, "3", "since", std::uint64_t{3}},
            {service::journal::field::left, "4", "left", std::uint64_t{4}},
            {service::journal::field::settings, "Grace=30s", "settings", std::string("Grace=30s")},
        };
    for (const auto& [field, text, key, value] : table) {
        const auto row = toRow(with(attachedRecord(), std::string(field).c_str(), text));
        ASSERT_TRUE(row) << field;
        EXPECT_EQ(row->kind, "attached");
        EXPECT_EQ(row->message, "environment 58 was attached");
        const auto* found = find(*row, key);
        ASSERT_NE(found, nullptr) << key;
        EXPECT_EQ(*found, value) << key;
        EXPECT_EQ(*find(*row, "environment"), core::HistoryValue(std::string("58")));
        EXPECT_EQ(*find(*row, "uid"), core::HistoryValue(std::uint32_t{1001}));
    }
}

TEST(EventRow, IsNoneWhereAFieldIsNotAsTheContractHasIt) {
    ASSERT_TRUE(toRow(attachedRecord()));
    EXPECT_FALSE(toRow({{"MESSAGE_ID", "0123456789abcdef0123456789abcdef"}})) << "another's id";
    EXPECT_FALSE(toRow({{"MESSAGE", "no id"}}));
    const std::vector<std::pair<const char*, std::string>> table{
        {"GENV_PID", ""},
        {"GENV_PID", "-1"},
        {"GENV_PID", "4294967296"},
        {"GENV_PID", "1x"},
        {"GENV_PID", " 1"},
        {"GENV_HELD_USEC", "18446744073709551616"},
        {"GENV_HELD_USEC", "1.5"},
        {"GENV_OVER_SUBSCRIBED", "yes"},
        {"GENV_DEVICE", "0,"},
        {"GENV_DEVICE", "0,x"},
        {"GENV_DEVICE_UUID", std::string(600, 'x')},
        {"GENV_USER", "\xff"},
        {"GENV_USER", std::string("a\0b", 3)},
        {"GENV_USER", std::string(513, 'a')},
    };
    for (const auto& [field, text] : table)
        EXPECT_FALSE(toRow(with(attachedRecord(), field, text))) << field << " " << text;
    Fields hostile = attachedRecord();
    hostile[2].second = "5/8";
    EXPECT_FALSE(toRow(hostile)) << "no id of an environment";
    std::string list = "0";
    for (int i = 0; i < 2000; ++i)
        list += ",0";
    EXPECT_FALSE(toRow(with(attachedRecord(), "GENV_DEVICE", list)));
}

TEST(EventRow, TakesTheFirstOfSeveralAndCutsALongSentence) {
    const auto row = toRow(with(attachedRecord(), "GENV_UID", "1002"));
    EXPECT_EQ(*find(*row, "uid"), core::HistoryValue(std::uint32_t{1001}));
    Fields record = attachedRecord();
    record[1].second.clear();
    for (int i = 0; i < 2000; ++i)
        record[1].second += "\u00e4";
    EXPECT_EQ(toRow(record)->message.size(), 2048);
    record[1].second = "x" + record[1].second;
    EXPECT_EQ(toRow(record)->message.size(), 2047) << "between characters";
}

class Reader : public testing::Test {
  protected:
    Reader() { source.directory = folder.path(); }

    core::HistoryPage read(const core::HistoryFilter& query) {
        return service::journal::read(source, query, bounds, stop);
    }
    static core::HistoryFilter everything() {
        core::HistoryFilter query;
        query.until = core::fromMicroseconds(1'000'000'000);
        return query;
    }

    JournalFolder folder;
    service::journal::Source source;
    service::journal::Bounds bounds;
    std::atomic<bool> stop = false;
};

TEST_F(Reader, SaysThatThereIsNoJournal) {
    EXPECT_EQ(read(everything()).failure.value().code(), core::ErrorCode::NotSupported);
    source.directory /= "missing";
    EXPECT_EQ(read(everything()).failure.value().code(), core::ErrorCode::NotSupported);
}

TEST_F(Reader, ReadsWithinItsBoundsAndGoesOnFromACursor) {
    if (!folder.generate("test", 1, 50))
        GTEST_SKIP() << "there is no systemd-journal-remote";
    core::HistoryFilter query = everything();
    EXPECT_EQ(read(query).rows.size(), 50);
    query.since = core::fromMicroseconds(10'000'000);
    query.until = core::fromMicroseconds(20'000'000);
    ASSERT_EQ(read(query).rows.size(), 11) << "both ends count";
    query.uid = 1001;
    EXPECT_EQ(read(query).rows.size(), 5);
    query = everything();
    query.limit = 20;
    std::vector<core::WallTime> times;
    for (auto page = read(query); !page.rows.empty(); page = read(query)) {
        ASSERT_LE(page.rows.size(), 20);
        ASSERT_LT(times.size(), 50) << "it goes round in circles";
        for (const auto& row : page.rows)
            times.push_back(row.time);
        query.after = page.rows.back().cursor;
    }
    ASSERT_EQ(times.size(), 50);
    for (std::size_t i = 0; i < times.size(); ++i)
        EXPECT_EQ(core::toMicroseconds(times[i]), (i + 1) * 1'000'000);
    query = everything();
    query.after = read(query).rows[4].cursor;
    query.since = core::fromMicroseconds(40'000'000);
    EXPECT_EQ(read(query).rows.size(), 11) << "a cursor leads to nothing earlier than since";
    query.after = "nonsense";
    EXPECT_EQ(read(query).failure.value().code(), core::ErrorCode::InvalidArgs);
    bounds.bytes = 1;
    EXPECT_EQ(read(everything()).rows.size(), 1);
    bounds = {};
    bounds.time = std::chrono::milliseconds{0};
    EXPECT_EQ(read(everything()).rows.size(), 1) << "who got something may go on";
    query = everything();
    query.device = "GPU-none";
    EXPECT_EQ(read(query).failure.value().code(), core::ErrorCode::Timeout);
    source.unit = "genvd.service";
    bounds = {};
    EXPECT_EQ(read(everything()).rows.size(), 0) << "another unit's";
    source.unit.reset();
    stop = true;
    EXPECT_EQ(read(everything()).rows.size(), 1);
}

} // namespace
} // namespace genv::tests
