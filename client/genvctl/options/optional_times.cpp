// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/options/optional_times.hpp"

#include "client/genvctl/common/command_search.hpp"
#include "core/base/duration.hpp"
#include "core/base/error.hpp"

#include <CLI/CLI.hpp>

namespace genv::ctl {

namespace {

bool mayTakeTime(const CLI::Option& option) {
    return option.get_items_expected_min() == 0 && option.get_type_name() == "TIME";
}

// A number alone is a time whose unit is missing, which its option reports.
bool isTime(const std::string& word) {
    if (word.empty() || word.front() < '0' || word.front() > '9')
        return false;
    if (word.find_first_not_of("0123456789") == std::string::npos)
        return true;
    try {
        core::parseTypedDuration(word);
        return true;
    } catch (const core::Error&) {
        return false;
    }
}

} // namespace

bool isOptionalTime(const CLI::App& command, const std::string& option, const std::string& word) {
    const CLI::Option* found = findOption(&command, option);
    return found != nullptr && mayTakeTime(*found) && isTime(word);
}

std::vector<std::string> withOptionalTimes(const CLI::App& app, std::vector<std::string> words) {
    const CLI::App* command = &app;
    for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
        if (words[i].size() < 2 || !words[i].starts_with('-')) {
            if (const CLI::App* next = findCommand(*command, words[i]))
                command = next;
            else if (command->get_prefix_command())
                break; // the command to run
            continue;
        }
        const CLI::Option* option = findOption(command, words[i]);
        if (option == nullptr || i + 1 == words.size())
            continue; // also an option with its value after "="
        if (takesNextWord(*option)) {
            ++i;
        } else if (mayTakeTime(*option) && isTime(words[i + 1])) {
            words[i] += "=" + words[i + 1];
            words.erase(words.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        }
    }
    return words;
}

} // namespace genv::ctl
