// SPDX-License-Identifier: LGPL-2.1-or-later
// Users of whom the machine need not know: the gate judges by uid alone.
#pragma once

#include "core/process.hpp"

namespace genv::tests {

inline constexpr core::Uid alice = 4001;
inline constexpr core::Uid bob = 4002;

} // namespace genv::tests
