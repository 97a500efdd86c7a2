// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/reports/enforcement_report.hpp"

#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/terminal/terminal.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"
#include "core/base/json_extent.hpp"
#include "core/rules/report.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace genv::ctl {

namespace {

// A report has four levels. A much deeper text is not a report, and writing it again would recurse
// deeply.
constexpr std::size_t deepestReport = 32;

Failure noReport(std::string_view why) {
    return {ExitStatus::Usage, fmt::format("Invalid report on standard input: {}", why),
            "It looks like {\"terminate\": {\"processes\": [...]}, \"detach\": {\"0\": {\"envs\": "
            "[...]}}}."};
}

} // namespace

bool mayTerminateProcesses() {
    const char* wanted = std::getenv("GENV_TERMINATE_PROCESSES");
    return wanted == nullptr || std::strcmp(wanted, "0") != 0;
}

void requireTermination(const std::string& hint) {
    if (!mayTerminateProcesses())
        throw Failure(ExitStatus::Failed, "GENV_TERMINATE_PROCESSES=0 forbids ending processes",
                      hint);
}

bool isForStandardError(std::string_view message) {
    constexpr std::array<std::string_view, 3> marks{"[ERROR]", "[WARNING]", "[DEBUG]"};
    return std::any_of(marks.begin(), marks.end(),
                       [&](std::string_view mark) { return message.starts_with(mark); });
}

Json toJson(const std::vector<EnforcementAction>& actions) {
    Json result = Json::array();
    for (const EnforcementAction& action : actions)
        result.push_back({{"kind", action.kind},
                          {"rule", action.rule},
                          {"message", action.message},
                          {"user", action.user},
                          {"pid", orNull(action.pid)},
                          {"environment", orNull(action.environment)},
                          {"devices", action.devices}});
    return result;
}

void printActions(const GlobalOptions& global, const std::vector<EnforcementAction>& actions) {
    if (printJson(global, toJson(actions)))
        return;
    for (const EnforcementAction& action : actions) {
        const std::string line = shown(action.message) + '\n';
        if (isForStandardError(action.message))
            printAside(line);
        else
            print(line);
    }
}

std::string reportToSend(const std::string& text, bool terminate) {
    Json report;
    if (core::extentOf(text).depth > deepestReport)
        throw noReport("nested too deeply");
    try {
        report = Json::parse(text);
    } catch (const Json::exception& error) {
        // The parser's message starts with its own name in brackets.
        const std::string_view what = error.what();
        const std::size_t end = what.find("] ");
        throw noReport(fmt::format("not JSON: {}",
                                   end == std::string_view::npos ? what : what.substr(end + 2)));
    }
    if (!report.is_object())
        throw noReport("not a JSON object");
    if (!terminate)
        report["terminate_processes"] = false;
    return report.dump();
}

std::string readReport(int descriptor) {
    std::string text;
    std::array<char, 65536> part{};
    for (;;) {
        const ssize_t count = read(descriptor, part.data(), part.size());
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            throw Failure(ExitStatus::Failed,
                          fmt::format("The report could not be read from standard input: {}",
                                      std::strerror(errno)));
        if (count == 0)
            return text;
        text.append(part.data(), static_cast<std::size_t>(count));
        if (text.size() > core::maxReportSize)
            throw noReport(fmt::format("longer than {} MiB", core::maxReportSize >> 20));
    }
}

} // namespace genv::ctl
