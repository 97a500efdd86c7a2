// SPDX-License-Identifier: LGPL-2.1-or-later
// The GPUs that this process sees, and its memory on them. The memory of a process on a GPU is a
// file that the fake NVML reads (tests/fake_nvml/allocations.hpp). Behind its line, the file has
// the contents: one word for each block. Parked memory is memory of the process, with the word all
// over the block, and then the file is gone and the node of the GPU is closed.
#pragma once

#include "service/park/cuda_abi.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace genv::fake_cuda {

using service::cuda::Result;
using Address = unsigned long long; ///< CUdeviceptr

inline constexpr std::uint64_t contextSize = 100U << 20U;
inline constexpr std::uint64_t blockSize = 2U << 20U;

class Gpu {
  public:
    /// `entry` is the GPU's entry in the machine's file.
    Gpu(const nlohmann::json& entry, std::size_t number) : entry_(entry), number_(number) {}

    /// Opens the GPU's node. Returns false if the process may not. A node without a driver counts
    /// as open.
    bool open();
    [[nodiscard]] bool hasContext() const { return !name_.empty(); }
    Result createContext();
    Result allocate(std::size_t size, Address& address);

    /// Return false if the address is not in allocated memory.
    bool fill(Address address, std::uint32_t word, std::size_t size);
    bool read(Address address, void* target, std::size_t size) const;

    /// Also closes the node.
    Result park();
    /// For an open GPU.
    Result restore();

  private:
    [[nodiscard]] bool hasRoom(std::uint64_t size) const;
    [[nodiscard]] Address base() const { return (number_ + 1) << 40U; }
    [[nodiscard]] std::string uuid() const { return entry_["uuid"]; }
    bool makeFile();
    void writeSize() const;

    const nlohmann::json entry_;
    const std::size_t number_;
    int node_ = -1;
    int file_ = -1;
    std::string name_; // of the file
    std::uint64_t top_ = 0;
    std::uint32_t* parked_ = nullptr; // a mapping of parkedSize_ bytes
    std::uint64_t parkedSize_ = 0;
};

/// Returns the GPUs of the machine that CUDA_VISIBLE_DEVICES names and whose nodes can be opened.
std::vector<Gpu> visibleGpus();

} // namespace genv::fake_cuda
