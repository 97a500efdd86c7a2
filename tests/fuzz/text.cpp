// SPDX-License-Identifier: LGPL-2.1-or-later
// Foreign text that is written to a terminal, a log or a file name.
#include "core/base/text.hpp"

#include "client/genvctl/terminal/table.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"
#include "core/base/error.hpp"
#include "shims/printable.hpp"
#include "tests/fuzz/target.hpp"

#include <algorithm>

namespace genv::fuzz::text {

bool isPlain(char byte) {
    return byte >= 0x20 && byte < 0x7f;
}

void expectOneLine(const std::string& table, std::size_t lines) {
    expect(std::ranges::count(table, '\n') == static_cast<std::ptrdiff_t>(lines),
           "a cell makes no line of its own");
    for (const std::string_view line : linesIn(table))
        expectShowable(line, "a table can be shown");
}

GENV_FUZZ_TARGET(text) {
    const std::string escaped = core::escaped(input);
    expectShowable(escaped, "escaped text can be shown");
    expect(escaped.size() <= std::size_t{8} * core::maxNameLength + 3, "escaped text is short");
    expectShowable(core::printable(input), "printable text can be shown");
    expectShowable(ctl::shown(input), "what a table shows can be shown");
    expect(std::ranges::all_of(shims::printable(input), isPlain), "a shim's text is plain");
    if (isShowable(input))
        expect(core::printable(input) == input, "what can be shown stays as it is");

    const bool isIdentifier = core::isIdentifier(input);
    if (isIdentifier)
        expect(std::ranges::all_of(input, isPlain) && input.find('/') == std::string_view::npos,
               "an id can be part of a file's name");
    try {
        core::requireName(input);
        expect(isShowable(input) && !input.empty() && input.size() <= core::maxNameLength,
               "a name can be shown");
    } catch (const core::Error& error) {
        expect(!isIdentifier, "an id can be a name");
        expectShowable(error.what(), "why a name is refused can be shown");
    }

    ctl::Table table({{"FIRST", 8}, {"SECOND", 6}, {"THIRD"}});
    const std::string cell(input);
    table.add({cell, "x", cell});
    expectOneLine(table.text(true), 2);
    table.fit(20);
    expectOneLine(table.text(false), 1);
    expectOneLine(table.csv(false), 1);
    expect(ctl::cells(ctl::shortened(ctl::shown(input), 10)) <= 10, "what is shortened fits");
}

} // namespace genv::fuzz::text
