// SPDX-License-Identifier: LGPL-2.1-or-later
// The lists of processes that NVML writes, as bytes. What an entry is differs by version of the
// function, and by driver: those of the first R535 are larger than their version says. So the size
// is measured, and where in an entry the pid stands is all that is known of it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace genv::shims {

/// What a buffer for measureEntries() is filled with. No entry ends in it: they end in a small
/// number or in all ones.
inline constexpr unsigned char unwritten = 0xA5;

/// The size of the entries in a buffer that was all `unwritten` before `count` (above 0) of them
/// were written: a multiple of eight, as all have 64-bit members. 0 where nothing was written.
std::size_t measureEntries(std::span<const unsigned char> buffer, std::size_t count);

/// Moves the entries with one of these pids, which are sorted, to the front, and returns how many
/// they are. `entries` holds whole entries of this size.
std::size_t keepEntries(std::span<unsigned char> entries, std::size_t size, std::size_t pidOffset,
                        const std::vector<unsigned>& pids);

} // namespace genv::shims
