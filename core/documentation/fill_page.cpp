// SPDX-License-Identifier: LGPL-2.1-or-later
// Writes a page from a template: each line that is one of the placeholders below is replaced by
// text from the tables of rules and limits, so that manuals and genvd.conf list exactly the
// existing ones.
//
// Usage: fill_page TEMPLATE PAGE. Runs when genv is built, and is not installed.
#include "core/settings/limit_definitions.hpp"
#include "core/settings/rule_definitions.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

namespace genv::core {
namespace {

/// Returns a part of a page, which ends with a newline.
using Part = std::string (*)();

// Escapes hyphens for troff, prints text between asterisks in bold, and begins a line with each
// sentence.
std::string troff(std::string_view text) {
    std::string result;
    bool isBold = false;
    for (const char character : text) {
        if (character == '*') {
            isBold = !isBold;
            result += isBold ? "\\fB" : "\\fR";
        } else if (character == ' ' && result.ends_with('.')) {
            result += '\n';
        } else {
            result += character == '-' ? "\\-" : std::string(1, character);
        }
    }
    return result;
}

std::string firstLine(std::string_view text) {
    return std::string(text.substr(0, text.find('\n')));
}

std::string rulesOfManual() {
    std::string text;
    for (const auto& [rule, toggle] : switchedRules()) {
        const bool isOn = RuleSwitches{}.*toggle.member;
        text += fmt::format(".TP\n.B {}=\n{}\nDefaults to\n.BR {} .\n", toggle.key,
                            troff(toggle.manual), isOn ? "yes" : "no");
    }
    return text;
}

std::string limitsOfManual() {
    std::string text;
    for (const LimitDefinition& limit : limitDefinitions())
        text += fmt::format(".TP\n.B {}=\n{}\n", limit.key, troff(limit.manual));
    return text;
}

std::string rulesOfFile() {
    std::string text;
    for (const auto& [rule, toggle] : switchedRules()) {
        const bool isOn = RuleSwitches{}.*toggle.member;
        text += fmt::format("# {}\n#{}={}\n", firstLine(toggle.manual), toggle.key,
                            isOn ? "yes" : "no");
    }
    return text;
}

std::string limitsOfFile() {
    std::string text;
    for (const LimitDefinition& limit : limitDefinitions())
        text += fmt::format("#{}=\n", limit.key);
    return text;
}

std::string rulesOfCommand() {
    std::string text;
    for (const auto& [rule, toggle] : switchedRules()) {
        const bool isOn = RuleSwitches{}.*toggle.member;
        const std::string name = troff(rule.name);
        text += fmt::format(".TP\n.BR \\-\\-{0} \", \" \\-\\-no\\-{0}\n{1}.\nDefaults to {2}.\n",
                            name, troff(toggle.help), isOn ? "on" : "off");
    }
    return text;
}

std::string limitsOfCommand() {
    constexpr std::string_view values[] = {"N", "AMOUNT", "TIME"}; // indexed by LimitUnit
    std::string text;
    for (const LimitDefinition& limit : limitDefinitions())
        text += fmt::format(".TP\n.BI \\-\\-{} \" {}\"\n{}.\n", troff(limit.name),
                            values[static_cast<std::size_t>(limit.unit())], troff(limit.help));
    return text;
}

const std::map<std::string, Part>& parts() {
    static const std::map<std::string, Part> all{
        {"@RULES_OF_MANUAL@", rulesOfManual},   {"@LIMITS_OF_MANUAL@", limitsOfManual},
        {"@RULES_OF_FILE@", rulesOfFile},       {"@LIMITS_OF_FILE@", limitsOfFile},
        {"@RULES_OF_COMMAND@", rulesOfCommand}, {"@LIMITS_OF_COMMAND@", limitsOfCommand},
    };
    return all;
}

void fill(const char* from, const char* to) {
    std::ifstream in(from);
    std::ofstream out(to, std::ios::trunc);
    if (!in || !out)
        throw std::runtime_error(fmt::format("cannot read {} or write {}", from, to));
    for (std::string line; std::getline(in, line);) {
        const auto part = parts().find(line);
        if (part != parts().end())
            out << part->second();
        else
            out << line << '\n';
    }
    if (!out.flush())
        throw std::runtime_error(fmt::format("cannot write {}", to));
}

} // namespace
} // namespace genv::core

int main(int count, char** arguments) {
    if (count != 3) {
        std::fputs("usage: fill_page TEMPLATE PAGE\n", stderr);
        return 2;
    }
    try {
        genv::core::fill(arguments[1], arguments[2]);
    } catch (const std::exception& error) {
        fmt::print(stderr, "fill_page: {}\n", error.what());
        return 1;
    }
    return 0;
}
