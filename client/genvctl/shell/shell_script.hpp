// SPDX-License-Identifier: LGPL-2.1-or-later
// The shell code of data/shell, made part of the program when it is built, so that setting a shell
// up reads no file.
#pragma once

#include <string_view>

namespace genv::ctl {

extern const std::string_view bashScript;
extern const std::string_view zshScript;
extern const std::string_view fishScript;
/// Removes what genv 1 has left in a shell, in bash and zsh.
extern const std::string_view genv1CleanupScript;

} // namespace genv::ctl
