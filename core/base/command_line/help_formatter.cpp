// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/base/command_line/help_formatter.hpp"

#include <CLI/CLI.hpp>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace genv::core {

namespace {

constexpr std::size_t lineWidth = 79;
constexpr std::size_t minTermWidth = 12;
constexpr std::size_t maxTermWidth = 27;

/// A described item, such as "-n, --lines N", and its description.
struct Row {
    std::string term;
    std::string text;
};

struct Section {
    std::string title;
    std::vector<Row> rows;
};

// Breaks the text at spaces and indents all lines after the first. `column` is where the first line
// starts.
std::string wrapped(std::string_view text, std::size_t column, std::size_t indent) {
    std::string result;
    while (!text.empty()) {
        // Keep a default such as "[default: 10s]" on one line.
        const std::size_t bracket = text.starts_with('[') ? text.find(']') : 0;
        const std::size_t end =
            std::min(text.find(' ', std::min(bracket, text.size())), text.size());
        const std::string_view word = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (!result.empty() && column + 1 + word.size() > lineWidth) {
            result += '\n' + std::string(indent, ' ');
            column = indent;
        } else if (!result.empty()) {
            result += ' ';
            ++column;
        }
        result += word;
        column += word.size();
    }
    return result;
}

bool isList(const CLI::Option& option) {
    return option.get_items_expected_max() >= CLI::detail::expected_max_vector_size;
}

// Returns the name of an option's value: "N", or "NAME..." if several words may follow.
std::string valueName(const CLI::Option& option) {
    std::string name = option.get_type_name();
    if (isList(option) && !name.ends_with("..."))
        name += "...";
    return name;
}

std::string withValue(const CLI::Option& option, std::string term) {
    if (option.get_type_name().empty())
        return term;
    const bool isOptional = option.get_items_expected_min() == 0;
    return term + (isOptional ? "[=" + option.get_type_name() + "]" : " " + valueName(option));
}

std::string optionTerm(const CLI::Option& option) {
    std::vector<std::string> names;
    for (const std::string& name : option.get_snames())
        names.push_back("-" + name);
    const std::vector<std::string>& all = option.get_lnames();
    const auto has = [&](const std::string& name) {
        return std::find(all.begin(), all.end(), name) != all.end();
    };
    for (const std::string& name : all) {
        if (name.starts_with("no-") && has(name.substr(3)))
            continue;
        names.push_back((has("no-" + name) ? "--[no-]" : "--") + name);
    }
    return withValue(option, fmt::format("{}", fmt::join(names, ", ")));
}

std::string description(const CLI::Option& option) {
    std::string text = option.get_description();
    if (!option.get_default_str().empty())
        text += fmt::format(" [default: {}]", option.get_default_str());
    return text;
}

std::vector<const CLI::Option*> shownOptions(const CLI::App& app, bool isArgument) {
    return app.get_options([isArgument](const CLI::Option* option) {
        return option->get_positional() == isArgument && !option->get_group().empty();
    });
}

std::vector<const CLI::App*> shownCommands(const CLI::App& app) {
    return app.get_subcommands([](const CLI::App* command) {
        return !command->get_name().empty() && !command->get_group().empty();
    });
}

Section& sectionOf(std::vector<Section>& sections, const std::string& title) {
    const auto found = std::find_if(sections.begin(), sections.end(),
                                    [&](const Section& section) { return section.title == title; });
    if (found != sections.end())
        return *found;
    return sections.emplace_back(Section{title, {}});
}

// Returns the title of a group. CLI11 has two default groups, and wrote their names in small
// letters before version 2.5.
std::string titleOf(const std::string& group) {
    if (group == "Subcommands" || group == "SUBCOMMANDS")
        return "Commands";
    return group == "OPTIONS" ? "Options" : group;
}

std::vector<Section> sectionsOf(const CLI::App& app) {
    std::vector<Section> sections;
    for (const CLI::App* command : shownCommands(app)) {
        sectionOf(sections, titleOf(command->get_group()))
            .rows.push_back({command->get_name(), command->get_description()});
    }
    for (const CLI::Option* argument : shownOptions(app, true))
        sectionOf(sections, "Arguments")
            .rows.push_back({argument->get_name(true, false), description(*argument)});
    for (const CLI::Option* option : shownOptions(app, false))
        sectionOf(sections, titleOf(option->get_group()))
            .rows.push_back({optionTerm(*option), description(*option)});
    return sections;
}

std::string argumentUsage(const CLI::Option& argument) {
    const std::string name = argument.get_name(true, false) + (isList(argument) ? "..." : "");
    return argument.get_required() ? name : "[" + name + "]";
}

std::string usage(const CLI::App& app, const std::string& name) {
    std::string text = name;
    for (const CLI::Option* option : shownOptions(app, false)) {
        if (option->get_required())
            text += " " + withValue(*option, "--" + option->get_lnames().front());
    }
    text += " [OPTION]...";
    if (app.get_prefix_command())
        return text + " [--] COMMAND [ARGUMENT]...";
    for (const CLI::Option* argument : shownOptions(app, true))
        text += " " + argumentUsage(*argument);
    if (!shownCommands(app).empty())
        text += app.get_require_subcommand_min() == 0 ? " [COMMAND]" : " COMMAND";
    return text;
}

std::size_t termWidth(const std::vector<Section>& sections) {
    std::size_t width = minTermWidth;
    for (const Section& section : sections) {
        for (const Row& row : section.rows) {
            if (row.term.size() <= maxTermWidth)
                width = std::max(width, row.term.size());
        }
    }
    return width;
}

std::string rowText(const Row& row, std::size_t width) {
    const std::size_t column = width + 4;
    const std::string text = wrapped(row.text, column, column);
    if (text.empty())
        return "  " + row.term + "\n";
    if (row.term.size() > width)
        return "  " + row.term + "\n" + std::string(column, ' ') + text + "\n";
    return fmt::format("  {:<{}}  {}\n", row.term, width, text);
}

class HelpFormatter : public CLI::FormatterBase {
  public:
    std::string make_help(const CLI::App* app, std::string name,
                          CLI::AppFormatMode /*mode*/) const override {
        constexpr std::string_view begin = "Usage: ";
        std::string text = std::string(begin) +
                           wrapped(usage(*app, name), begin.size(), begin.size()) + "\n\n" +
                           wrapped(app->get_description(), 0, 0) + "\n";
        const std::vector<Section> sections = sectionsOf(*app);
        const std::size_t width = termWidth(sections);
        for (const Section& section : sections) {
            text += "\n" + section.title + ":\n";
            for (const Row& row : section.rows)
                text += rowText(row, width);
        }
        if (const std::string footer = app->get_footer(); !footer.empty())
            text += "\n" + footer + "\n";
        return text;
    }
};

} // namespace

std::shared_ptr<CLI::FormatterBase> helpFormatter() {
    return std::make_shared<HelpFormatter>();
}

} // namespace genv::core
