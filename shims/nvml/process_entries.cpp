// SPDX-License-Identifier: LGPL-2.1-or-later
#include "shims/nvml/process_entries.hpp"

#include <algorithm>
#include <cstring>

namespace genv::shims {

std::size_t measureEntries(std::span<const unsigned char> buffer, std::size_t count) {
    constexpr std::size_t alignment = 8;
    const auto last = std::find_if(buffer.rbegin(), buffer.rend(),
                                   [](unsigned char byte) { return byte != unwritten; });
    const auto written = static_cast<std::size_t>(buffer.rend() - last);
    const std::size_t atLeast = (written + count - 1) / count;
    return (atLeast + alignment - 1) / alignment * alignment;
}

std::size_t keepEntries(std::span<unsigned char> entries, std::size_t size, std::size_t pidOffset,
                        const std::vector<unsigned>& pids) {
    std::size_t kept = 0;
    for (std::size_t at = 0; at + size <= entries.size(); at += size) {
        unsigned pid = 0;
        std::memcpy(&pid, &entries[at + pidOffset], sizeof(pid));
        if (!std::binary_search(pids.begin(), pids.end(), pid))
            continue;
        if (at != kept * size)
            std::memcpy(&entries[kept * size], &entries[at], size);
        ++kept;
    }
    return kept;
}

} // namespace genv::shims
