// SPDX-License-Identifier: LGPL-2.1-or-later
// The options that "genvctl top" and genv-top have in common, in one table for both command lines.
#pragma once

namespace genv::top {

struct OptionRow {
    const char* name;
    const char* argument; ///< what its argument is called; null: it has none
    const char* help;
};

inline constexpr OptionRow onceOption{"--once", nullptr, "Print everything once and exit"};
inline constexpr OptionRow readOnlyOption{"--readonly", nullptr,
                                          "Disable the keys that change something"};
inline constexpr OptionRow gpuOption{"--gpu", "I,...",
                                     "Show only GPUs with these indices, such as 0-3,7"};

} // namespace genv::top
