// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/use/use_record.hpp"

#include "core/base/json_reader.hpp"
#include "core/base/text.hpp"
#include "core/state/state_schema.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <limits>

namespace genv::core {

namespace {

using nlohmann::json;

// Three hundred thousand years in microseconds: no clock gets there, and sums do not overflow.
constexpr std::int64_t largestTime = std::numeric_limits<std::int64_t>::max() / 4;
constexpr std::size_t maxBootLength = 64;
constexpr std::uint64_t largestLength = std::uint64_t{1} << 32U; // more than a century

// A row may date from before the boot.
std::chrono::microseconds timeIn(const JsonValue& value) {
    return std::chrono::microseconds{value.signedNumber(largestTime)};
}

LengthRow decodeLengths(const JsonValue& value) {
    LengthRow row{value["uid"].number32(), value["name"].text(maxNameLength), {}};
    for (const JsonValue& length : value["seconds"].list())
        row.lengths.emplace_back(static_cast<std::int64_t>(length.number(largestLength)));
    return row;
}

json encodeLengths(const std::vector<LengthRow>& lengths) {
    json rows = json::array();
    for (const LengthRow& row : lengths) {
        json seconds = json::array();
        for (const std::chrono::seconds length : row.lengths)
            seconds.push_back(static_cast<std::uint64_t>(length.count()));
        rows.push_back({{"uid", row.uid}, {"name", row.name}, {"seconds", std::move(seconds)}});
    }
    return rows;
}

UseRecord decodeRecord(const JsonValue& document) {
    if (document["version"].amount() != useVersion)
        throw StateError("it is from another version of genvd");
    UseRecord record;
    record.boot = document["boot"].text(maxBootLength);
    record.bootTime = BootTime{timeIn(document["boot_time"])};
    record.wallTime = WallTime{timeIn(document["wall_time"])};
    for (const JsonValue& row : document["users"].list())
        record.rows.push_back(
            {row["uid"].number32(), row["gpu_seconds"].amount(), BootTime{timeIn(row["as_of"])}});
    for (const JsonValue& row : document.listIfAny("lengths"))
        record.lengths.push_back(decodeLengths(row));
    for (const JsonValue& guess : document.listIfAny("guesses"))
        record.guesses.push_back(guess.boolean());
    return record;
}

} // namespace

std::string encodeUse(const UseRecord& record) {
    json rows = json::array();
    for (const UseRow& row : record.rows)
        rows.push_back({{"uid", row.uid},
                        {"gpu_seconds", row.gpuSeconds},
                        {"as_of", row.asOf.time_since_epoch().count()}});
    json document{{"version", useVersion},
                  {"boot", record.boot},
                  {"boot_time", record.bootTime.time_since_epoch().count()},
                  {"wall_time", record.wallTime.time_since_epoch().count()},
                  {"users", std::move(rows)}};
    if (!record.lengths.empty())
        document["lengths"] = encodeLengths(record.lengths);
    if (!record.guesses.empty())
        document["guesses"] = record.guesses;
    return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

UseRecord decodeUse(std::string_view document) {
    return readJson<StateError>(document, anySize, decodeRecord);
}

} // namespace genv::core
