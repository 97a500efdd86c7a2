// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/cluster/json_fields.hpp"

#include <algorithm>

namespace genv::ctl::cluster::fields {

using nlohmann::json;

// Parses a number or {set, infinite, number}. Returns nothing for null, unset and infinite values.
std::optional<std::uint64_t> numberOf(const json& value) {
    if (value.is_number_unsigned())
        return value.get<std::uint64_t>();
    if (!value.is_object())
        return std::nullopt;
    const auto set = value.find("set");
    const auto number = value.find("number");
    if (set == value.end() || *set != true || number == value.end() || number->is_object())
        return std::nullopt;
    return numberOf(*number);
}

std::optional<std::uint64_t> numberIn(const json& record, const char* field) {
    const auto found = record.find(field);
    return found == record.end() ? std::nullopt : numberOf(*found);
}

std::string textIn(const json& record, const char* field) {
    const auto found = record.find(field);
    return found != record.end() && found->is_string() ? found->get<std::string>() : "";
}

// Returns a word or a list of words, in capitals.
std::set<std::string> wordsIn(const json& record, const char* field) {
    std::set<std::string> words;
    const auto add = [&](const json& value) {
        if (!value.is_string())
            return;
        std::string word = value.get<std::string>();
        std::transform(word.begin(), word.end(), word.begin(), [](char c) {
            return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
        });
        words.insert(std::move(word));
    };
    const auto found = record.find(field);
    if (found == record.end())
        return words;
    if (found->is_array())
        std::for_each(found->begin(), found->end(), add);
    else
        add(*found);
    return words;
}

std::optional<Time> timeIn(const json& record, const char* field) {
    const auto seconds = numberIn(record, field);
    // 0 means none. No time of Slurm has more than 32 bits.
    if (!seconds || *seconds == 0 || *seconds > UINT32_MAX)
        return std::nullopt;
    return Time(std::chrono::seconds(*seconds));
}

} // namespace genv::ctl::cluster::fields
