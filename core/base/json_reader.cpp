// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/base/json_reader.hpp"

#include "core/base/json_extent.hpp"

#include <fmt/format.h>

#include <cmath>

namespace genv::core {

using nlohmann::json;

json parseJson(std::string_view text, std::size_t maxDepth) {
    // The parser allocates its own stack, so limiting the depth of the result is sufficient.
    if (maxDepth != anySize && extentOf(text).depth > maxDepth)
        throw JsonError("too deep");
    // The parser's exception would quote the text.
    json document = json::parse(text, nullptr, false);
    if (document.is_discarded())
        throw JsonError("not JSON");
    if (!document.is_object())
        throw JsonError("not a JSON object");
    return document;
}

void JsonValue::requireMembers(std::initializer_list<const char*> names) const {
    if (object().size() != names.size())
        throw JsonError("an object has other members than expected");
    for (const char* name : names)
        static_cast<void>((*this)[name]);
}

std::optional<JsonValue> JsonValue::find(const char* name) const {
    const auto found = object().find(name);
    return found != value_->end() ? std::optional(JsonValue(*found, name)) : std::nullopt;
}

JsonValue JsonValue::operator[](const char* name) const {
    const auto found = find(name);
    if (!found)
        throw JsonError(fmt::format("\"{}\" is missing", name));
    return *found;
}

bool JsonValue::boolean() const {
    if (!value_->is_boolean())
        refuse("true or false");
    return value_->get<bool>();
}

std::uint64_t JsonValue::number(std::uint64_t max, std::uint64_t min) const {
    if (!value_->is_number_unsigned() || value_->get<std::uint64_t>() < min ||
        value_->get<std::uint64_t>() > max)
        refuse(fmt::format("a number from {} to {}", min, max));
    return value_->get<std::uint64_t>();
}

std::uint32_t JsonValue::number32(std::uint32_t max, std::uint32_t min) const {
    return static_cast<std::uint32_t>(number(max, min));
}

std::int64_t JsonValue::signedNumber(std::int64_t max) const {
    // A number above the largest signed one would become negative.
    const bool fits = value_->is_number_unsigned()
                          ? value_->get<std::uint64_t>() <= static_cast<std::uint64_t>(max)
                          : value_->is_number_integer() && value_->get<std::int64_t>() >= -max &&
                                value_->get<std::int64_t>() <= max;
    if (!fits)
        refuse(fmt::format("a number from {} to {}", -max, max));
    return value_->get<std::int64_t>();
}

double JsonValue::amount() const {
    if (!value_->is_number() || !std::isfinite(value_->get<double>()) || value_->get<double>() < 0)
        refuse("a number that is not negative");
    return value_->get<double>();
}

std::string JsonValue::text(std::size_t maxLength) const {
    if (!value_->is_string())
        refuse("text");
    if (value_->get_ref<const std::string&>().size() > maxLength)
        refuse(fmt::format("text of at most {} bytes", maxLength));
    return value_->get<std::string>();
}

std::vector<JsonValue> JsonValue::list(std::size_t maxLength) const {
    if (!value_->is_array())
        refuse("a list");
    if (value_->size() > maxLength)
        refuse(fmt::format("a list of at most {} entries", maxLength));
    std::vector<JsonValue> entries;
    entries.reserve(value_->size());
    for (const json& entry : *value_)
        entries.emplace_back(entry, name_, true);
    return entries;
}

std::vector<JsonValue> JsonValue::listOf(std::size_t length) const {
    auto entries = list(length);
    if (entries.size() != length)
        refuse(fmt::format("a list of {} entries", length));
    return entries;
}

const json& JsonValue::object() const {
    if (!value_->is_object())
        refuse("an object");
    return *value_;
}

std::vector<JsonValue> JsonValue::listIfAny(const char* name) const {
    const auto found = find(name);
    return found ? found->list() : std::vector<JsonValue>{};
}

void JsonValue::refuse(const std::string& expected) const {
    throw JsonError(
        fmt::format("invalid {}\"{}\": expected {}", isEntry_ ? "entry of " : "", name_, expected));
}

} // namespace genv::core
