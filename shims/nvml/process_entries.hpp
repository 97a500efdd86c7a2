// SPDX-License-Identifier: LGPL-2.1-or-later
// Processes NVML's lists of processes as bytes. The layout of an entry differs by version of the
// function and by driver: the entries of the first R535 drivers are larger than their version
// specifies. Therefore the size is measured, and only the offset of the PID in an entry is known.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace genv::shims {

/// The byte that fills a buffer for measureEntries(). No entry ends with this byte: entries end
/// with a small number or with all bits set.
inline constexpr unsigned char unwritten = 0xA5;

/// Returns the size of the entries in a buffer that was filled with `unwritten` before `count`
/// (above 0) entries were written. The size is a multiple of eight, because all entries have 64-bit
/// members. Returns 0 if nothing was written.
std::size_t measureEntries(std::span<const unsigned char> buffer, std::size_t count);

/// Moves the entries with one of these PIDs, which must be sorted, to the front, and returns their
/// number. `entries` must hold whole entries of this size.
std::size_t keepEntries(std::span<unsigned char> entries, std::size_t size, std::size_t pidOffset,
                        const std::vector<unsigned>& pids);

} // namespace genv::shims
