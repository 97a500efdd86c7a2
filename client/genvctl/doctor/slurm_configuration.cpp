// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/doctor/slurm_configuration.hpp"

#include <algorithm>
#include <fstream>

namespace genv::ctl::doctor {

namespace {

// Limits files that include each other.
constexpr int maxIncludeDepth = 8;

std::string lowerCase(std::string_view text) {
    std::string lower(text);
    for (char& c : lower)
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return lower;
}

std::string_view trimmed(std::string_view text) {
    const std::size_t begin = std::min(text.find_first_not_of(" \t\r"), text.size());
    text.remove_prefix(begin);
    return text.substr(0, text.find_last_not_of(" \t\r") + 1);
}

std::string_view unquoted(std::string_view text) {
    return text.size() >= 2 && text.front() == '"' && text.back() == '"'
               ? text.substr(1, text.size() - 2)
               : text;
}

bool startsWithWord(std::string_view lower, std::string_view word) {
    return lower.starts_with(word) && lower.size() > word.size() &&
           (lower[word.size()] == ' ' || lower[word.size()] == '\t');
}

} // namespace

std::optional<SlurmConfiguration> SlurmConfiguration::read(const std::filesystem::path& file) {
    if (!std::ifstream(file).is_open())
        return std::nullopt;
    SlurmConfiguration configuration;
    configuration.add(file, 0);
    return configuration;
}

std::string SlurmConfiguration::value(std::string_view key) const {
    const auto found = values_.find(lowerCase(key));
    return found != values_.end() ? found->second : "";
}

bool SlurmConfiguration::has(std::string_view key, std::string_view word) const {
    const std::string list = "," + lowerCase(value(key)) + ",";
    return list.find("," + lowerCase(word) + ",") != std::string::npos;
}

void SlurmConfiguration::add(const std::filesystem::path& file, int depth) {
    std::ifstream stream(file);
    std::string whole;
    for (std::string line; std::getline(stream, line);) {
        const std::string_view text = trimmed(std::string_view(line).substr(0, line.find('#')));
        whole += text;
        if (whole.ends_with('\\')) {
            whole.back() = ' ';
            continue;
        }
        addLine(file.parent_path(), whole, depth);
        whole.clear();
    }
    addLine(file.parent_path(), whole, depth);
}

void SlurmConfiguration::addLine(const std::filesystem::path& folder, std::string_view line,
                                 int depth) {
    const std::string lower = lowerCase(line);
    if (startsWithWord(lower, "include")) {
        if (depth < maxIncludeDepth)
            add(folder / std::string(trimmed(line.substr(7))), depth + 1);
        return;
    }
    const std::size_t sign = line.find('=');
    if (sign == std::string_view::npos)
        return;
    if (lower.find("gres=gpu") != std::string::npos || lower.find(",gpu:") != std::string::npos ||
        lower.find("name=gpu") != std::string::npos)
        hasGpus_ = hasGpus_ || lower.starts_with("nodename=") || lower.starts_with("name=");
    values_[lowerCase(trimmed(line.substr(0, sign)))] =
        std::string(unquoted(trimmed(line.substr(sign + 1))));
}

} // namespace genv::ctl::doctor
