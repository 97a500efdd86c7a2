// SPDX-License-Identifier: LGPL-2.1-or-later
#include "genv/error.hpp"

#include <utility>

namespace genv {

Error::Error(std::string name, const std::string& message)
    : std::runtime_error(message), name_(std::move(name)) {}

Error::~Error() = default;

ServiceUnavailable::~ServiceUnavailable() = default;

} // namespace genv
