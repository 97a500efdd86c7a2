// SPDX-License-Identifier: LGPL-2.1-or-later
// A prompt's file as the service finds it at its start. Whatever its content is, prompts get a file
// in the right form, with sentences that can be printed.
#include "service/shell/shell_files.hpp"

#include "tests/fuzz/holder.hpp"
#include "tests/fuzz/target.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace genv::fuzz::shell_files {

bool isNumber(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

void expectForm(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const std::vector<std::string_view> lines = linesIn(text);
    expect(lines.size() >= 2 && lines.size() <= 2 + service::ShellFiles::maxSentences,
           "a prompt's file has two lines and sentences");
    const std::size_t blank = std::min(lines[0].find(' '), lines[0].size());
    expect(isNumber(lines[0].substr(0, blank)) &&
               isNumber(lines[0].substr(std::min(blank + 1, lines[0].size()))),
           "the first line is two numbers");
    expect(lines[1] == "0", "the second line is what is attached");
    for (const std::string_view line : lines) {
        expectShowable(line, "a prompt's line can be shown");
        expect(isNumber(line.substr(0, line.find(' '))), "a line begins with a number");
    }
}

GENV_FUZZ_TARGET(shell_files) {
    static const ForeignFolder runtime;
    std::filesystem::create_directory(runtime.path() + "/shell");
    tests::FakeClock clock;
    tests::FakeStore store;
    tests::FakeProcesses processes;
    tests::FakeUsers users;
    tests::SilentLog log;
    core::EventHub events;
    core::Ledger ledger(store, clock, events);
    ledger.observed(tests::gpus(1));
    addHolder(ledger, processes, "e10");
    // The file of the living environment and the file of one that has ended.
    runtime.fill("shell/e10", input);
    runtime.fill("shell/gone", input);
    service::ShellFiles files(runtime.path(), ledger, clock, users, log);
    files.start({{"e10", 0}, {"gone", std::nullopt}});
    files.notify("e10", core::Cause::request(0, tests::alice),
                 [](const std::string& actor) { return actor; });
    expectForm(runtime.path() + "/shell/e10");
    std::filesystem::remove(runtime.path() + "/shell/gone");
}

} // namespace genv::fuzz::shell_files
