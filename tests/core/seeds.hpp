// SPDX-License-Identifier: LGPL-2.1-or-later
// The seeds of property tests by random steps.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>

namespace genv::tests {

/// Returns the seeds from 1 to a number; with sanitizers, which look at the memory rather than at
/// the rules and take many times as long, to a quarter of it, and at least 2.
inline auto seedsTo(unsigned last) {
#ifdef __SANITIZE_ADDRESS__
    last = std::max(2U, last / 4);
#endif
    return ::testing::Range(1U, last + 1);
}

} // namespace genv::tests
