// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/jobs/detached_run.hpp"

#include "client/genvctl/common/command_search.hpp"
#include "client/genvctl/options/optional_times.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstddef>

namespace genv::ctl {

namespace {

constexpr const char* detachOption = "--detach";

// Returns the position of "run", which may come after global options.
std::size_t placeOfRun(const CLI::App& app, const std::vector<std::string>& words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (!words[i].starts_with('-'))
            return words[i] == "run" ? i : words.size();
        const CLI::Option* option = findOption(&app, words[i]);
        if (option != nullptr && takesNextWord(*option))
            ++i;
    }
    return words.size();
}

bool isDetached(const CLI::App& submit, const std::vector<std::string>& words, std::size_t first) {
    for (std::size_t i = first; i < words.size() && words[i].starts_with('-') && words[i] != "--";
         ++i) {
        if (words[i] == detachOption)
            return true;
        const CLI::Option* option = findOption(&submit, words[i]);
        const bool hasTime = i + 1 < words.size() && isOptionalTime(submit, words[i], words[i + 1]);
        if ((option != nullptr && takesNextWord(*option)) || hasTime)
            ++i;
    }
    return false;
}

} // namespace

std::vector<std::string> withDetachedRun(std::vector<std::string> words,
                                         const WithSubmit& withSubmit) {
    if (std::ranges::find(words, "run") == words.end() ||
        std::ranges::find(words, detachOption) == words.end())
        return words;
    withSubmit([&](const CLI::App& app) {
        const std::size_t place = placeOfRun(app, words);
        const CLI::App* submit = findCommand(app, "submit");
        if (place < words.size() && isDetached(*submit, words, place + 1))
            words[place] = "submit";
    });
    return words;
}

} // namespace genv::ctl
