// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/state/state_upgrades.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace genv::core {

void upgradeDocument(nlohmann::json& document, std::span<const StateUpgrade> steps) {
    if (!document.is_object())
        throw StateError("the document is not an object");
    const auto found = document.find("version");
    if (found == document.end() || !found->is_number_unsigned() || found->get<std::uint64_t>() == 0)
        throw StateError("it lacks its version");
    const std::uint64_t newest = steps.size() + 1;
    const auto version = found->get<std::uint64_t>();
    if (version > newest)
        throw StateError(fmt::format(
            "a newer genv wrote it (version {}; this one reads versions up to {}): install that "
            "genv again, move the file back to environments/ and restart genvd",
            version, newest));
    try {
        for (std::uint64_t from = version; from < newest; ++from) {
            steps[from - 1](document);
            document["version"] = from + 1;
        }
    } catch (const nlohmann::json::exception&) { // its text may quote the document
        throw StateError(fmt::format("not a document of version {}", version));
    }
}

} // namespace genv::core
