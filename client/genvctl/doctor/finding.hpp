// SPDX-License-Identifier: LGPL-2.1-or-later
// The result of a check of the doctor.
#pragma once

#include <string>

namespace genv::ctl::doctor {

enum class DoctorVerdict { Ok, Warning, Problem };

/// The texts may contain foreign text, which is made safe when it is printed.
struct DoctorFinding {
    DoctorVerdict verdict = DoctorVerdict::Ok;
    std::string found;
    std::string advice; ///< what to do; empty if nothing has to be done
};

} // namespace genv::ctl::doctor
