// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/base/command_line/parsing.hpp"

#include "core/base/text.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

namespace genv::core {

namespace {

bool isWritten(const std::string& text) {
    return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
           std::fflush(stdout) == 0;
}

} // namespace

std::optional<std::string> parseCommandLine(CLI::App& app, int count,
                                            const char* const* arguments) {
    try {
        app.parse(count, arguments);
        return std::nullopt;
    } catch (const CLI::CallForHelp&) {
        return app.help();
    } catch (const CLI::Success& answer) {
        return std::string(answer.what()) + '\n';
    } catch (const CLI::ParseError& error) {
        throw usageError(app, error);
    }
}

std::optional<int> exitAfterParsing(CLI::App& app, int count, const char* const* arguments) {
    try {
        const auto text = parseCommandLine(app, count, arguments);
        if (!text)
            return std::nullopt;
        return isWritten(*text) ? EXIT_SUCCESS : EXIT_FAILURE;
    } catch (const UsageError& error) {
        complain(app.get_name(), error);
        return usageStatus;
    }
}

void complain(std::string_view program, const UsageError& error) {
    fmt::print(stderr, "{}: {}\n{}\n", program, printable(error.what()), printable(error.hint()));
}

} // namespace genv::core
