// SPDX-License-Identifier: LGPL-2.1-or-later
// A table of functions from nvmlInternalGetExportTable(), for programs that bypass the symbols as
// NVIDIA's own programs do. NVIDIA's tables are private; this one has its own functions and id.
#pragma once

#include "core/model/nvml_abi.hpp"

#include <array>
#include <cstddef>

namespace genv::fake_nvml {

using ExportTableId = std::array<unsigned char, 16>;

inline constexpr ExportTableId exportTableId{'g', 'e', 'n', 'v', ' ', 'f', 'a', 'k',
                                             'e', ' ', 'n', 'v', 'm', 'l', ' ', '1'};

struct ExportTable {
    std::size_t size;
    /// In bytes.
    nvml::Return (*memory)(nvml::Device, unsigned long long* total, unsigned long long* reserved,
                           unsigned long long* used);
    /// Lists processes of one type: "compute", "graphics" or "mps". Otherwise as the third version
    /// of the public functions.
    nvml::Return (*processes)(nvml::Device, const char* type, unsigned* count,
                              nvml::ProcessV2* list);
};

} // namespace genv::fake_nvml
