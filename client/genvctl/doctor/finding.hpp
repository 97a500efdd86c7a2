// SPDX-License-Identifier: LGPL-2.1-or-later
// What a check of the doctor found.
#pragma once

#include <string>

namespace genv::ctl::doctor {

enum class Verdict { Ok, Warning, Problem };

/// Texts may hold foreign text; they are made safe where they are printed.
struct Finding {
    Verdict verdict = Verdict::Ok;
    std::string found;
    std::string advice; ///< what to do; empty where nothing is to be done
};

} // namespace genv::ctl::doctor
