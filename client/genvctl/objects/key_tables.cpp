// SPDX-License-Identifier: LGPL-2.1-or-later
// Writes the page json-keys.md.
//
// Usage: key_tables PAGE. Runs when genv is built, and is not installed.
#include "client/genvctl/objects/things.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>

int main(int count, char** arguments) {
    std::ofstream page(count == 2 ? arguments[1] : "");
    page << "# Keys of JSON\n\n[JSON](json.md) describes the objects that have these keys.\n";
    for (const auto& [name, keys] : genv::ctl::schema::things) {
        page << fmt::format("\n## {}\n\n| key | type | meaning |\n|---|---|---|\n", name);
        for (const auto& key : keys)
            page << fmt::format("| `{}` | {} | {} |\n", key.name, key.type, key.meaning);
    }
    page.close();
    return page ? EXIT_SUCCESS : EXIT_FAILURE;
}
