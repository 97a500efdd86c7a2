// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/fake_cuda/gpus.hpp"

#include "tests/fake_cuda/faults.hpp"
#include "tests/fake_nvml/allocations.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

namespace genv::fake_cuda {

namespace {

using nlohmann::json;

constexpr std::size_t headerSize = 128;
constexpr std::uint64_t wordsOfBlock = blockSize / sizeof(std::uint32_t);

std::filesystem::path allocations() {
    return machineFolder() / "allocations";
}

bool isNamed(const json& device, std::size_t index) {
    const char* list = std::getenv("CUDA_VISIBLE_DEVICES");
    if (list == nullptr)
        return true;
    std::istringstream names(list);
    for (std::string name; std::getline(names, name, ',');) {
        if (name == device["uuid"].get<std::string>() || name == std::to_string(index))
            return true;
    }
    return false;
}

off_t placeOf(std::uint64_t block) {
    return static_cast<off_t>(headerSize + block * sizeof(std::uint32_t));
}

// The files of this process. Closing another descriptor of such a file would end its lock.
std::set<std::string>& ownFiles() {
    static std::set<std::string> names;
    return names;
}

} // namespace

bool Gpu::open() {
    if (node_ >= 0)
        return true;
    node_ = ::open(entry_.value("node", "/dev/null").c_str(), O_RDWR | O_CLOEXEC);
    return node_ >= 0 || (errno != EPERM && errno != EACCES);
}

Result Gpu::createContext() {
    if (!hasRoom(contextSize))
        return Result::OutOfMemory;
    if (!makeFile())
        return Result::OperatingSystem;
    writeSize();
    return Result::Success;
}

Result Gpu::allocate(std::size_t size, Address& address) {
    const std::uint64_t blocks = (size + blockSize - 1) / blockSize;
    if (!hasRoom(blocks * blockSize))
        return Result::OutOfMemory;
    address = base() + top_;
    top_ += blocks * blockSize;
    writeSize();
    return Result::Success;
}

bool Gpu::fill(Address address, std::uint32_t word, std::size_t size) {
    if (file_ < 0 || address < base() || address + size > base() + top_)
        return false;
    const std::uint64_t first = (address - base()) / blockSize;
    const std::uint64_t last = (address - base() + std::max<std::size_t>(size, 1) - 1) / blockSize;
    const std::vector<std::uint32_t> words(last - first + 1, word);
    const auto bytes = static_cast<ssize_t>(words.size() * sizeof word);
    return ::pwrite(file_, words.data(), words.size() * sizeof word, placeOf(first)) == bytes;
}

bool Gpu::read(Address address, void* target, std::size_t size) const {
    if (file_ < 0 || address < base() || address + size > base() + top_)
        return false;
    auto* out = static_cast<unsigned char*>(target);
    for (std::size_t at = 0; at < size; at += sizeof(std::uint32_t)) {
        std::uint32_t word = 0;
        if (::pread(file_, &word, sizeof word, placeOf((address - base() + at) / blockSize)) < 0)
            return false;
        std::memcpy(out + at, &word, std::min(sizeof word, size - at));
    }
    return true;
}

Result Gpu::park() {
    if (node_ >= 0)
        ::close(std::exchange(node_, -1));
    if (file_ < 0)
        return Result::Success;
    if (top_ > 0) {
        void* memory =
            ::mmap(nullptr, top_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) // NOLINT(performance-no-int-to-ptr)
            return Result::OperatingSystem;
        parked_ = static_cast<std::uint32_t*>(memory);
        parkedSize_ = top_;
        for (std::uint64_t block = 0; block < top_ / blockSize; ++block) {
            std::uint32_t word = 0;
            if (::pread(file_, &word, sizeof word, placeOf(block)) < 0)
                return Result::OperatingSystem;
            std::fill_n(parked_ + block * wordsOfBlock, wordsOfBlock, word);
        }
    }
    ::unlink(name_.c_str());
    ownFiles().erase(name_);
    ::close(std::exchange(file_, -1));
    return Result::Success;
}

Result Gpu::restore() {
    if (!hasContext())
        return Result::Success;
    if (!hasRoom(contextSize + top_))
        return Result::OutOfMemory;
    if (!makeFile())
        return Result::OperatingSystem;
    writeSize();
    for (std::uint64_t block = 0; block < top_ / blockSize; ++block) {
        const std::uint32_t* const words = parked_ + block * wordsOfBlock;
        const std::uint32_t word = words[0];
        if (std::any_of(words, words + wordsOfBlock, [&](auto each) { return each != word; }) ||
            ::pwrite(file_, &word, sizeof word, placeOf(block)) != sizeof word)
            return Result::OperatingSystem;
    }
    if (parked_ != nullptr)
        ::munmap(std::exchange(parked_, nullptr), std::exchange(parkedSize_, 0));
    return Result::Success;
}

bool Gpu::hasRoom(std::uint64_t size) const {
    const json& memory = entry_["memory"];
    std::uint64_t used =
        memory["used"].get<std::uint64_t>() + memory.value("reserved", std::uint64_t{0}) + size;
    if (file_ >= 0)
        used += contextSize + top_;
    for (const auto& allocation : fake_nvml::readAllocations(allocations(), ownFiles()))
        used += allocation.gpu == uuid() ? allocation.bytes : 0;
    return used <= memory["total"].get<std::uint64_t>();
}

// Makes and locks the file. The descriptor stays open, and the lock with it.
bool Gpu::makeFile() {
    std::string name = (allocations() / "XXXXXX").string();
    file_ = ::mkostemp(name.data(), O_CLOEXEC);
    struct flock lock {};
    lock.l_type = F_WRLCK;
    if (file_ < 0 || ::fchmod(file_, 0644) < 0 || ::fcntl(file_, F_SETLK, &lock) < 0)
        return false;
    name_ = name;
    ownFiles().insert(name);
    return true;
}

// In a single write, so that a reader sees the old or the new line.
void Gpu::writeSize() const {
    std::array<char, headerSize> header{};
    header.fill(' ');
    const int length = std::snprintf(header.data(), header.size(), "%s %" PRIu64, uuid().c_str(),
                                     contextSize + top_);
    header.at(static_cast<std::size_t>(length)) = ' ';
    header.back() = '\n';
    if (::pwrite(file_, header.data(), header.size(), 0) < 0)
        std::perror("fake CUDA: allocation");
}

std::vector<Gpu> visibleGpus() {
    std::ifstream file(machineFolder() / "machine.json");
    if (const char* named = std::getenv("GENV_FAKE_NVML"))
        file = std::ifstream(named);
    const json machine = json::parse(file, nullptr, false);
    std::vector<Gpu> gpus;
    if (!machine.is_object())
        return gpus;
    const json& devices = machine["devices"];
    for (std::size_t index = 0; index < devices.size(); ++index) {
        Gpu gpu(devices[index], gpus.size());
        if (isNamed(devices[index], index) && gpu.open())
            gpus.push_back(gpu);
    }
    return gpus;
}

} // namespace genv::fake_cuda
