// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/use_record.hpp"

#include "core/state_schema.hpp"
#include "core/text.hpp"

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdint>
#include <limits>

namespace genv::core {

namespace {

using nlohmann::json;

// Three hundred thousand years in microseconds: no clock gets there, and sums do not overflow.
constexpr std::int64_t largestTime = std::numeric_limits<std::int64_t>::max() / 4;
constexpr std::size_t maxBootLength = 64;
constexpr std::uint64_t largestLength = std::uint64_t{1} << 32U; // more than a century

const json& field(const json& object, const char* name) {
    const auto found = object.find(name);
    if (found == object.end())
        throw StateError(std::string("\"") + name + "\" is missing");
    return *found;
}

// A row may date from before the boot.
std::chrono::microseconds timeIn(const json& object, const char* name) {
    const json& value = field(object, name);
    if (!value.is_number_integer() ||
        (value.is_number_unsigned() && value.get<std::uint64_t>() > largestTime) ||
        value.get<std::int64_t>() > largestTime || value.get<std::int64_t>() < -largestTime)
        throw StateError(std::string("\"") + name + "\" is not a time");
    return std::chrono::microseconds{value.get<std::int64_t>()};
}

UseRow decodeRow(const json& value) {
    if (!value.is_object())
        throw StateError("the use of a user is not an object");
    const json& uid = field(value, "uid");
    if (!uid.is_number_unsigned() || uid.get<std::uint64_t>() > std::numeric_limits<Uid>::max())
        throw StateError("\"uid\" is not a uid");
    const json& use = field(value, "gpu_seconds");
    if (!use.is_number() || !std::isfinite(use.get<double>()) || use.get<double>() < 0)
        throw StateError("\"gpu_seconds\" is not an amount");
    return {uid.get<Uid>(), use.get<double>(), BootTime{timeIn(value, "as_of")}};
}

LengthRow decodeLengths(const json& value) {
    if (!value.is_object())
        throw StateError("the lengths of a user are not an object");
    const json& uid = field(value, "uid");
    const json& name = field(value, "name");
    const json& seconds = field(value, "seconds");
    if (!uid.is_number_unsigned() || uid.get<std::uint64_t>() > std::numeric_limits<Uid>::max())
        throw StateError("\"uid\" is not a uid");
    if (!name.is_string() || name.get_ref<const std::string&>().size() > maxNameLength)
        throw StateError("\"name\" is not a name");
    if (!seconds.is_array())
        throw StateError("\"seconds\" is not a list");
    LengthRow row{uid.get<Uid>(), name.get<std::string>(), {}};
    for (const json& length : seconds) {
        if (!length.is_number_unsigned() || length.get<std::uint64_t>() > largestLength)
            throw StateError("\"seconds\" has an impossible length");
        row.lengths.emplace_back(length.get<std::int64_t>());
    }
    return row;
}

void decodeHistory(const json& document, UseRecord& record) {
    if (const auto lengths = document.find("lengths"); lengths != document.end()) {
        if (!lengths->is_array())
            throw StateError("\"lengths\" is not a list");
        for (const json& row : *lengths)
            record.lengths.push_back(decodeLengths(row));
    }
    if (const auto guesses = document.find("guesses"); guesses != document.end()) {
        if (!guesses->is_array())
            throw StateError("\"guesses\" is not a list");
        for (const json& guess : *guesses) {
            if (!guess.is_boolean())
                throw StateError("\"guesses\" has something else than yes and no");
            record.guesses.push_back(guess.get<bool>());
        }
    }
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

UseRecord decodeRecord(const json& document) {
    if (!document.is_object())
        throw StateError("the document is not an object");
    if (field(document, "version") != useVersion)
        throw StateError("it is from another version of genvd");
    UseRecord record;
    const json& boot = field(document, "boot");
    if (!boot.is_string() || boot.get_ref<const std::string&>().size() > maxBootLength)
        throw StateError("\"boot\" is not an id");
    record.boot = boot.get<std::string>();
    record.bootTime = BootTime{timeIn(document, "boot_time")};
    record.wallTime = WallTime{timeIn(document, "wall_time")};
    const json& rows = field(document, "users");
    if (!rows.is_array())
        throw StateError("\"users\" is not a list");
    for (const json& row : rows)
        record.rows.push_back(decodeRow(row));
    decodeHistory(document, record);
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
    const json parsed = json::parse(document, nullptr, false);
    if (parsed.is_discarded())
        throw StateError("it is not JSON");
    return decodeRecord(parsed);
}

} // namespace genv::core
