// SPDX-License-Identifier: LGPL-2.1-or-later
// Files of /proc, in which a process can write any text: its name, arguments and environment. The
// first byte selects the file, and the rest is its text.
#include "core/base/text.hpp"
#include "service/processes/proc_text.hpp"
#include "tests/fuzz/target.hpp"

#include <algorithm>

namespace genv::fuzz::proc {

// Whatever its name is, a process cannot forge its parent.
void expectNameIsNoField(std::string_view name) {
    if (name.find('\0') != std::string_view::npos)
        return;
    std::string text = "4711 (" + std::string(name) + ") S 42 0";
    for (int field = 6; field < 22; ++field)
        text += " 1";
    const auto stat = service::parseStat(text + " 77 0\n");
    expect(stat && stat->parent == 42 && stat->startTime == 77 && stat->command == name,
           "the name of a process says nothing of its parent");
}

GENV_FUZZ_TARGET(proc) {
    Bytes bytes(input);
    const std::size_t which = bytes.below(5);
    const std::string_view text = bytes.rest();
    if (which == 0) {
        service::parseStat(text);
        expectNameIsNoField(text);
    } else if (which == 1) {
        service::parseUids(text);
    } else if (which == 2) {
        const auto hint = service::parseEnvironmentHint(text);
        expect(!hint || (hint->id.size() <= core::maxNameLength &&
                         hint->id.find('\0') == std::string::npos),
               "an id is short");
    } else if (which == 3) {
        std::size_t size = 0;
        for (const std::string& word : service::splitArguments(text))
            size += word.size() + 1;
        expect(size >= text.size() && size <= text.size() + 1, "every byte is in a word");
    } else {
        service::parseDescriptorPid(text);
    }
}

} // namespace genv::fuzz::proc
