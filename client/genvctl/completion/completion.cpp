// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/completion/completion.hpp"

#include "client/genvctl/common/command_search.hpp"
#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/options/optional_times.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <variant>

namespace genv::ctl {

namespace {

bool isShown(const CLI::Option& option) {
    return !option.get_group().empty();
}

// Returns --x for an option, X for an argument.
std::vector<std::string> namesOf(const CLI::Option& option) {
    if (option.get_positional())
        return {option.get_name(true, false)};
    std::vector<std::string> names;
    for (const std::string& name : option.get_lnames())
        names.push_back("--" + name);
    return names;
}

// The state of the command line before the word that is completed.
struct CursorPlace {
    const CLI::App* command = nullptr;
    const CLI::Option* pending = nullptr; // the next word is its value
    bool onlyPending = false;             // the next word can only be that value
    std::vector<std::string> arguments = {};
    bool onlyArguments = false; // after "--"
    std::optional<std::size_t> foreignCommandAt;
};

void takeOption(CursorPlace& place, const std::string& word) {
    if (word == "--") {
        place.onlyArguments = true;
        return;
    }
    const std::size_t equals = word.find('=');
    const CLI::Option* option = findOption(place.command, word.substr(0, equals));
    if (option != nullptr && takesNextWord(*option) && equals == std::string::npos) {
        place.pending = option;
        place.onlyPending = true;
    }
}

void takeWord(CursorPlace& place, const std::string& word, std::size_t index) {
    const bool isOption =
        !place.onlyArguments && word.size() > 1 && word.starts_with('-') && !place.onlyPending;
    if (isOption) {
        place.pending = nullptr;
        takeOption(place, word);
        if (place.onlyArguments && place.command->get_prefix_command())
            place.foreignCommandAt = index + 1;
        return;
    }
    if (place.pending != nullptr) {
        // An option with a list takes more words, but the next word may also be something else.
        place.onlyPending = false;
        if (place.pending->get_items_expected_max() < CLI::detail::expected_max_vector_size)
            place.pending = nullptr;
        return;
    }
    if (const CLI::App* next = findCommand(*place.command, word)) {
        place = CursorPlace();
        place.command = next;
        return;
    }
    if (place.command->get_prefix_command())
        place.foreignCommandAt = index;
    place.arguments.push_back(word);
}

class Collector {
  public:
    Collector(const CursorPlace& place, std::string partial, const LiveValues& live)
        : place_(place), partial_(std::move(partial)), live_(live) {}

    Completion collect() {
        const std::size_t equals = partial_.find('=');
        if (place_.pending != nullptr)
            addValues(*place_.pending, "");
        if (place_.onlyPending)
            return std::move(result_);
        const bool isOption = partial_.starts_with('-') && !place_.onlyArguments;
        if (isOption && equals != std::string::npos) {
            const CLI::Option* option = findOption(place_.command, partial_.substr(0, equals));
            if (option != nullptr)
                addValues(*option, partial_.substr(0, equals + 1));
        } else if (isOption) {
            addOptions();
        } else {
            addCommands();
            addArguments();
            if (result_.candidates.empty() && partial_.empty() && result_.kind == ValueKind::Free &&
                !place_.onlyArguments)
                addOptions();
        }
        return std::move(result_);
    }

  private:
    void add(std::string value, std::string help) {
        if (value.starts_with(partial_))
            result_.candidates.push_back({std::move(value), std::move(help)});
    }

    void addCommands() {
        for (const CLI::App* command : below(*place_.command, true)) {
            if (!command->get_group().empty() && place_.arguments.empty())
                add(command->get_name(), command->get_description());
        }
    }

    // Adds values for the next argument, or for the last argument if it accepts several.
    void addArguments() {
        std::vector<const CLI::Option*> arguments = optionsOf(*place_.command, true);
        std::erase_if(arguments, [](const CLI::Option* o) { return !isShown(*o); });
        if (arguments.empty())
            return;
        std::size_t at = place_.arguments.size();
        if (at >= arguments.size()) {
            if (arguments.back()->get_items_expected_max() < CLI::detail::expected_max_vector_size)
                return;
            at = arguments.size() - 1;
        }
        addValues(*arguments[at], "");
    }

    void addValues(const CLI::Option& option, const std::string& prefix) {
        const auto values = Definition::of(*place_.command).traitsOf(option).values;
        if (!values)
            return;
        if (const OneOf* words = std::get_if<OneOf>(&*values)) {
            for (const std::string_view word : *words)
                add(prefix + std::string(word), "");
            return;
        }
        const ValueKind kind = std::get<ValueKind>(*values);
        switch (kind) {
        case ValueKind::Free:
            return;
        case ValueKind::HelpTopic:
            addHelpTopics();
            return;
        case ValueKind::File:
        case ValueKind::Command:
            result_.kind = kind;
            return;
        default:
            for (Candidate& candidate : live_(kind))
                add(prefix + candidate.value, std::move(candidate.help));
        }
    }

    // Adds the subcommands of the command named by the words so far.
    void addHelpTopics() {
        const CLI::App* topic = place_.command->get_parent();
        for (const std::string& word : place_.arguments) {
            topic = topic == nullptr ? nullptr : findCommand(*topic, word);
        }
        if (topic == nullptr)
            return;
        for (const CLI::App* command : below(*topic, true)) {
            if (!command->get_group().empty())
                add(command->get_name(), command->get_description());
        }
    }

    void addOptions() {
        for (const CLI::App* command = place_.command; command != nullptr;
             command = command->get_fallthrough() ? command->get_parent() : nullptr) {
            for (const CLI::Option* option : optionsOf(*command, false)) {
                if (!isShown(*option))
                    continue;
                for (const std::string& name : namesOf(*option)) {
                    const bool isKnown = std::any_of(
                        result_.candidates.begin(), result_.candidates.end(),
                        [&](const Candidate& candidate) { return candidate.value == name; });
                    if (!isKnown) // every command has --help
                        add(name, option->get_description());
                }
            }
        }
    }

    const CursorPlace& place_;
    std::string partial_;
    const LiveValues& live_;
    Completion result_;
};

// A value that a terminal cannot show unchanged cannot be typed either.
bool isPlain(const std::string& text) {
    return shown(text) == text && !text.empty();
}

} // namespace

std::string commandPath(const CLI::App& command) {
    const CLI::App* parent = command.get_parent();
    return parent != nullptr ? commandPath(*parent) + " " + command.get_name() : "genvctl";
}

Completion complete(const CLI::App& app, const std::vector<std::string>& words,
                    const LiveValues& live) {
    CursorPlace place;
    place.command = &app;
    for (std::size_t i = 0; i + 1 < words.size() && !place.foreignCommandAt; ++i) {
        const bool isTime = i > 0 && place.pending == nullptr && !place.onlyArguments &&
                            isOptionalTime(*place.command, words[i - 1], words[i]);
        if (!isTime)
            takeWord(place, words[i], i);
    }
    if (place.foreignCommandAt)
        return {ValueKind::Command, *place.foreignCommandAt, {}};
    Completion completion =
        Collector(place, words.empty() ? std::string() : words.back(), live).collect();
    if (completion.kind == ValueKind::Command)
        completion.commandAt = words.empty() ? 0 : words.size() - 1;
    return completion;
}

std::string completionText(const Completion& completion) {
    std::string text = completion.kind == ValueKind::File ? "files\n"
                       : completion.kind == ValueKind::Command
                           ? fmt::format("command {}\n", completion.commandAt)
                           : "values\n";
    for (const Candidate& candidate : completion.candidates) {
        if (!isPlain(candidate.value))
            continue;
        text += candidate.value;
        if (!candidate.help.empty())
            text += '\t' + shown(candidate.help);
        text += '\n';
    }
    return text;
}

} // namespace genv::ctl
