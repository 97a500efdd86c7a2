// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/journal/event_row.hpp"

#include "core/base/text.hpp"
#include "service/journal/contract.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace genv::service::journal {

namespace {

// Texts for people may be cut. A longer name was not written by the service.
constexpr std::size_t maxTextLength = 2048;
constexpr std::size_t maxWordLength = 512;
constexpr std::size_t maxListLength = 1024;

enum class Form { Word, Text, Identifier, Number, BigNumber, Flag, Numbers, Words };

struct Rule {
    std::string_view field;
    std::string_view key;
    Form form;
    std::string_view listKey = {}; ///< key to use for more than one value
};

constexpr std::array rules{
    Rule{field::environment, "environment", Form::Identifier},
    Rule{field::environmentName, "name", Form::Word},
    Rule{field::parent, "parent", Form::Identifier},
    Rule{field::job, "job", Form::Number},
    Rule{field::uid, "uid", Form::Number},
    Rule{field::user, "user", Form::Word},
    Rule{field::device, "device", Form::Numbers, "devices"},
    Rule{field::deviceUuid, "uuid", Form::Words, "uuids"},
    Rule{field::deviceModel, "model", Form::Word},
    Rule{field::share, "share", Form::BigNumber},
    Rule{field::overSubscribed, "over-subscribed", Form::Flag},
    Rule{field::reason, "reason", Form::Word},
    Rule{field::callerUid, "caller", Form::Number},
    Rule{field::callerUser, "caller-user", Form::Word},
    Rule{field::callerLogin, "caller-login", Form::Number},
    Rule{field::callerLoginUser, "caller-login-user", Form::Word},
    Rule{field::method, "method", Form::Word},
    Rule{field::action, "action", Form::Word},
    Rule{field::error, "error", Form::Word},
    Rule{field::pid, "pid", Form::Numbers, "pids"},
    Rule{field::command, "command", Form::Word},
    Rule{field::isolation, "isolation", Form::Word},
    Rule{field::rule, "rule", Form::Word},
    Rule{field::health, "health", Form::Word},
    Rule{field::count, "count", Form::Number},
    Rule{field::waited, "waited", Form::BigNumber},
    Rule{field::held, "held", Form::BigNumber},
    Rule{field::since, "since", Form::BigNumber},
    Rule{field::left, "left", Form::BigNumber},
    Rule{field::memory, "memory", Form::BigNumber},
    Rule{field::took, "took", Form::BigNumber},
    Rule{field::problem, "problem", Form::Text},
    Rule{field::takerUid, "taker", Form::Number},
    Rule{field::takerUser, "taker-user", Form::Word},
    Rule{field::takerEnvironment, "taker-environment", Form::Identifier},
    Rule{field::taken, "taken", Form::Word},
    Rule{field::settings, "settings", Form::Text},
};

constexpr std::string_view messageField = "MESSAGE";

template <typename Number>
std::optional<Number> toNumber(std::string_view text) {
    Number number = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc{} || stop != end)
        return std::nullopt;
    return number;
}

// Returns text that D-Bus can carry. Longer text is cut between characters.
std::optional<std::string> toText(std::string_view text, std::size_t maxLength) {
    std::string_view rest = text;
    while (!rest.empty()) {
        const std::size_t kept = text.size() - rest.size();
        const auto character = core::takeCharacter(rest);
        if (!character || *character == 0)
            return std::nullopt;
        if (text.size() - rest.size() > maxLength)
            return std::string(text.substr(0, kept));
    }
    return std::string(text);
}

std::optional<std::string> toWord(std::string_view text) {
    if (text.size() > maxWordLength)
        return std::nullopt;
    return toText(text, maxWordLength);
}

std::optional<std::vector<std::string_view>> split(std::string_view text) {
    std::vector<std::string_view> parts;
    while (parts.size() < maxListLength) {
        const std::size_t comma = text.find(',');
        parts.push_back(text.substr(0, comma));
        if (comma == std::string_view::npos)
            return parts;
        text.remove_prefix(comma + 1);
    }
    return std::nullopt;
}

// Returns a list, or the value itself if there is only one.
template <typename Value, typename Parse>
std::optional<core::HistoryValue> toList(std::string_view text, Parse parse) {
    const auto parts = split(text);
    if (!parts)
        return std::nullopt;
    std::vector<Value> values;
    for (const std::string_view part : *parts) {
        auto value = parse(part);
        if (!value)
            return std::nullopt;
        values.push_back(std::move(*value));
    }
    if (values.size() == 1)
        return core::HistoryValue(std::move(values.front()));
    return core::HistoryValue(std::move(values));
}

template <typename Value>
std::optional<core::HistoryValue> wrap(std::optional<Value> value) {
    return value ? std::optional<core::HistoryValue>(std::move(*value)) : std::nullopt;
}

std::optional<core::HistoryValue> toValue(Form form, std::string_view text) {
    switch (form) {
    case Form::Word:
        return wrap(toWord(text));
    case Form::Text:
        return wrap(toText(text, maxTextLength));
    case Form::Identifier:
        return core::isIdentifier(text) ? std::optional<core::HistoryValue>(std::string(text))
                                        : std::nullopt;
    case Form::Number:
        return wrap(toNumber<std::uint32_t>(text));
    case Form::BigNumber:
        return wrap(toNumber<std::uint64_t>(text));
    case Form::Flag:
        return text == "1" ? std::optional<core::HistoryValue>(true) : std::nullopt;
    case Form::Numbers:
        return toList<std::uint32_t>(text, toNumber<std::uint32_t>);
    case Form::Words:
        return toList<std::string>(text, toWord);
    }
    return std::nullopt;
}

const std::string* find(const Fields& fields, std::string_view name) {
    const auto found = std::find_if(fields.begin(), fields.end(),
                                    [&](const auto& field) { return field.first == name; });
    return found == fields.end() ? nullptr : &found->second;
}

bool isList(const core::HistoryValue& value) {
    return std::holds_alternative<std::vector<std::uint32_t>>(value) ||
           std::holds_alternative<std::vector<std::string>>(value);
}

std::size_t sizeOfValue(const core::HistoryValue& value) {
    if (const auto* text = std::get_if<std::string>(&value))
        return text->size();
    if (const auto* numbers = std::get_if<std::vector<std::uint32_t>>(&value))
        return numbers->size() * sizeof(std::uint32_t);
    std::size_t bytes = 0;
    if (const auto* words = std::get_if<std::vector<std::string>>(&value)) {
        for (const std::string& word : *words)
            bytes += word.size() + sizeof(std::uint64_t);
    }
    return bytes;
}

} // namespace

bool isOfInterest(std::string_view name) {
    return name.starts_with("GENV_") || name == messageField || name == field::messageId;
}

std::optional<core::HistoryRow> toRow(const Fields& fields) {
    const std::string* id = find(fields, field::messageId);
    const std::string* message = find(fields, messageField);
    const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const Kind& each) {
        return id != nullptr && each.messageId == *id;
    });
    auto text = toText(message != nullptr ? *message : std::string_view(), maxTextLength);
    if (kind == kinds.end() || !text)
        return std::nullopt;
    core::HistoryRow row{{}, {}, kind->name, std::move(*text), {}};
    for (const Rule& rule : rules) {
        const std::string* found = find(fields, rule.field);
        if (found == nullptr)
            continue;
        auto value = toValue(rule.form, *found);
        if (!value)
            return std::nullopt;
        const std::string_view key = isList(*value) ? rule.listKey : rule.key;
        row.details.emplace_back(key, std::move(*value));
    }
    return row;
}

std::size_t sizeOf(const core::HistoryRow& row) {
    constexpr std::size_t ofAnEntry = 24; // the container, the type, lengths and alignment
    std::size_t bytes = row.cursor.size() + row.kind.size() + row.message.size() + 8 * ofAnEntry;
    for (const auto& [key, value] : row.details)
        bytes += ofAnEntry + key.size() + sizeOfValue(value);
    return bytes;
}

} // namespace genv::service::journal
