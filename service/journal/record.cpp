// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/journal/record.hpp"

#include "core/base/text.hpp"
#include "service/journal/naming.hpp"

namespace genv::service::journal {

namespace {

// Longer than any meaningful value.
constexpr std::size_t maxValueLength = 1024;

bool isPrintable(std::string_view text) {
    while (!text.empty()) {
        const auto character = core::takeCharacter(text);
        if (!character || !core::isPrintable(*character))
            return false;
    }
    return true;
}

// Returns a value that is safe to write. Printable values stay unchanged, including quotes,
// backslashes and text that an adapter has already escaped, so that a search for a name finds it.
std::string safe(std::string_view value) {
    return value.size() <= maxValueLength && isPrintable(value)
               ? std::string(value)
               : core::escaped(value, maxValueLength);
}

} // namespace

Record::Record(const Kind& kind, core::Severity severity, std::string line)
    : severity_(severity),
      line_(std::move(line)), fields_{{field::messageId, std::string(kind.messageId)},
                                      {field::event, std::string(kind.name)}} {}

void Record::nameUser(std::uint32_t uid, std::string_view name) {
    journal::nameUser(line_, uid, name);
}

Record& Record::add(std::string_view field, std::string_view value) {
    fields_.emplace_back(field, safe(value));
    return *this;
}

Record& Record::add(std::string_view field, std::uint64_t value) {
    fields_.emplace_back(field, std::to_string(value));
    return *this;
}

Record& Record::add(std::string_view field, const std::vector<std::string>& values,
                    char separator) {
    std::string list;
    for (const std::string& value : values) {
        if (&value != &values.front())
            list += separator;
        for (const char c : safe(value)) {
            if (c == separator)
                list += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
            else
                list += c;
        }
    }
    if (!values.empty())
        fields_.emplace_back(field, std::move(list));
    return *this;
}

} // namespace genv::service::journal
