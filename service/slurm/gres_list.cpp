// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/slurm/gres_list.hpp"

#include "core/base/text.hpp"
#include "service/slurm/slurm_protocol.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <optional>

namespace genv::service {

namespace {

[[noreturn]] void failGres(std::string_view text) {
    throw GresError(fmt::format("slurmd -G printed \"{}\", which genv does not understand",
                                core::escaped(text)));
}

template <typename Number>
Number requireNumber(std::string_view text, std::string_view line) {
    Number number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || error != std::errc{} || end != text.data() + text.size())
        failGres(line);
    return number;
}

// Removes the text up to a separator, and the separator. Returns the text.
std::string_view takePart(std::string_view& rest, char separator) {
    const std::size_t end = std::min(rest.find(separator), rest.size());
    const std::string_view part = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return part;
}

// Returns the value of " Key=", up to the next space.
std::optional<std::string_view> valueOf(std::string_view line, std::string_view key) {
    const std::size_t begin = line.find(fmt::format(" {}=", key));
    if (begin == std::string_view::npos)
        return std::nullopt;
    std::string_view rest = line.substr(begin + key.size() + 2);
    return takePart(rest, ' ');
}

void addName(std::vector<std::string>& names, std::string name, std::string_view list) {
    if (!name.starts_with('/') || names.size() == maxSlurmDevices)
        failGres(list);
    names.push_back(std::move(name));
}

// Adds the names of a range: "0", "2-3" or "00-11". Each number is padded to the width of the
// first.
void addRange(std::vector<std::string>& names, std::string_view prefix, std::string_view range,
              std::string_view list) {
    const std::string_view first = takePart(range, '-');
    const std::string_view last = range.empty() ? first : range;
    const auto begin = requireNumber<std::uint32_t>(first, list);
    const auto end = requireNumber<std::uint32_t>(last, list);
    if (begin > end || end - begin >= maxSlurmDevices)
        failGres(list);
    for (std::uint32_t number = begin; number <= end; ++number)
        addName(names, fmt::format("{}{:0>{}}", prefix, number, first.size()), list);
}

// Removes one entry of a list. Commas within brackets belong to the entry.
std::string_view takeEntry(std::string_view& rest) {
    std::size_t end = rest.find(',');
    const std::size_t open = rest.find('[');
    if (open < end)
        end = rest.find(',', std::min(rest.find(']', open), rest.size()));
    end = std::min(end, rest.size());
    const std::string_view entry = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return entry;
}

// Returns the files that one line adds: one for each GPU.
std::vector<std::string> filesOfLine(std::string_view line) {
    const auto count = valueOf(line, "Count");
    const auto file = valueOf(line, "File");
    if (!count)
        failGres(line);
    const auto devices = requireNumber<std::uint64_t>(*count, line);
    if (!file || *file == "(null)")
        return {};
    std::vector<std::string> files = expandFileNames(*file);
    if (files.size() == devices)
        return files;
    if (devices != 1)
        failGres(line);
    return {files.back()};
}

} // namespace

std::vector<std::string> expandFileNames(std::string_view list) {
    std::vector<std::string> names;
    std::string_view rest = list;
    do {
        const std::string_view entry = takeEntry(rest);
        const std::size_t open = entry.find('[');
        if (open == std::string_view::npos) {
            addName(names, std::string(entry), list);
            continue;
        }
        if (!entry.ends_with(']'))
            failGres(list);
        std::string_view ranges = entry.substr(open + 1, entry.size() - open - 2);
        do
            addRange(names, entry.substr(0, open), takePart(ranges, ','), list);
        while (!ranges.empty());
    } while (!rest.empty());
    return names;
}

std::vector<std::string> parseGpuFiles(std::string_view output) {
    std::vector<std::string> files;
    while (!output.empty()) {
        const std::string_view line = takePart(output, '\n');
        // A log prefix such as "slurmd-n1: " may precede the word.
        if (line.find("Gres Name=") == std::string_view::npos || valueOf(line, "Name") != "gpu")
            continue;
        for (std::string& file : filesOfLine(line))
            files.push_back(std::move(file));
        if (files.size() > maxSlurmDevices)
            failGres(line);
    }
    return files;
}

} // namespace genv::service
