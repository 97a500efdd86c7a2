// SPDX-License-Identifier: LGPL-2.1-or-later
// How --help writes options: as getopt_long(3) programs do, "--wait[=TIME]" for what may be left
// out.
#pragma once

#include <memory>

namespace CLI {
class FormatterBase;
}

namespace genv::ctl {

std::shared_ptr<CLI::FormatterBase> helpFormatter();

} // namespace genv::ctl
