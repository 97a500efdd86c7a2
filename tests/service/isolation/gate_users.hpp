// SPDX-License-Identifier: LGPL-2.1-or-later
// Users that the machine need not know: the gate decides by uid alone.
#pragma once

#include "core/base/process.hpp"

namespace genv::tests {

inline constexpr core::Uid alice = 4001;
inline constexpr core::Uid bob = 4002;

} // namespace genv::tests
