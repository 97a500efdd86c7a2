// SPDX-License-Identifier: LGPL-2.1-or-later
// The shell code of data/shell, compiled into the program, so that setting up a shell reads no
// file.
#pragma once

#include <string_view>

namespace genv::ctl {

extern const std::string_view bashScript;
extern const std::string_view zshScript;
extern const std::string_view fishScript;
/// Removes the remains of genv 1 in a shell, for bash and zsh.
extern const std::string_view genv1CleanupScript;

} // namespace genv::ctl
