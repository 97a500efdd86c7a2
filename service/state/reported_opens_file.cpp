// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/state/reported_opens_file.hpp"

#include "core/base/text.hpp"
#include "service/state/own_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <string_view>
#include <system_error>

namespace genv::service {

namespace {

constexpr const char* reportsName = "refusals";
// The first line. Each other line has a uid, the major and minor number of a node, and the numbers
// of refused and of watched opens.
constexpr std::string_view reportsTitle = "genv refusals 1";
constexpr std::size_t maxReportsSize = 1 << 20; // the kernel keeps 8192 counters

template <typename Number>
bool takeNumber(std::string_view& line, Number& number) {
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
    if (error != std::errc{})
        return false;
    line.remove_prefix(static_cast<std::size_t>(end - line.data()));
    if (line.starts_with(' '))
        line.remove_prefix(1);
    return true;
}

std::optional<core::ReportedOpens> parseRow(std::string_view line) {
    core::ReportedOpens row;
    const bool isWhole = takeNumber(line, row.uid) && takeNumber(line, row.node.major) &&
                         takeNumber(line, row.node.minor) && takeNumber(line, row.counts.refused) &&
                         takeNumber(line, row.counts.watched) && line.empty();
    return isWhole ? std::optional(row) : std::nullopt;
}

std::optional<std::vector<core::ReportedOpens>> parseReports(std::string_view text) {
    std::vector<core::ReportedOpens> rows;
    bool isFirst = true;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        if (end == std::string_view::npos)
            return std::nullopt;
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(end + 1);
        if (std::exchange(isFirst, false)) {
            if (line != reportsTitle)
                return std::nullopt;
            continue;
        }
        const auto row = parseRow(line);
        if (!row)
            return std::nullopt;
        rows.push_back(*row);
    }
    return isFirst ? std::nullopt : std::optional(rows);
}

} // namespace

std::optional<std::vector<core::ReportedOpens>> ReportedOpensFile::read() {
    const std::filesystem::path path = runtime_ / reportsName;
    std::error_code error;
    if (std::filesystem::symlink_status(path, error).type() ==
        std::filesystem::file_type::not_found)
        return std::vector<core::ReportedOpens>{};
    std::string why = "not a genvd state file";
    try {
        const auto text = readOwnFile(AT_FDCWD, path.native(), maxReportsSize, why);
        auto rows = text ? parseReports(*text) : std::nullopt;
        if (!rows)
            setAside(why);
        return rows;
    } catch (const std::system_error& shortage) {
        log_.error("cannot read {}: {}", path.native(), shortage.code().message());
        return std::nullopt;
    }
}

void ReportedOpensFile::write(const std::vector<core::ReportedOpens>& reported) noexcept {
    std::string text = fmt::format("{}\n", reportsTitle);
    for (const core::ReportedOpens& row : reported)
        text += fmt::format("{} {} {} {} {}\n", row.uid, row.node.major, row.node.minor,
                            row.counts.refused, row.counts.watched);
    const std::filesystem::path path = runtime_ / reportsName;
    const int error = replaceOwnFile(AT_FDCWD, path.native(), text);
    if (error != 0 && error != lastError_)
        log_.error("cannot write {}: {}; after a restart, refusals may be reported again",
                   path.native(), std::generic_category().message(error));
    lastError_ = error;
}

void ReportedOpensFile::setAside(const std::string& why) {
    const std::filesystem::path broken = runtime_ / "broken";
    ::mkdir(broken.c_str(), 0700);
    const bool moved =
        std::rename((runtime_ / reportsName).c_str(), (broken / reportsName).c_str()) == 0;
    log_.error("set {} aside{}: {}", (runtime_ / reportsName).native(),
               moved ? " in " + broken.native() : " in place", core::escaped(why, 256));
}

} // namespace genv::service
