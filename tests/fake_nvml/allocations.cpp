// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/fake_nvml/allocations.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <system_error>

namespace genv::fake_nvml {

namespace {

// Returns the PID of the process that has locked a file, or 0.
unsigned lockerOf(const std::filesystem::path& file) {
    const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return 0;
    struct flock lock {};
    lock.l_type = F_RDLCK;
    const bool isLocked =
        ::fcntl(descriptor, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK && lock.l_pid > 0;
    ::close(descriptor);
    return isLocked ? static_cast<unsigned>(lock.l_pid) : 0;
}

} // namespace

std::vector<Allocation> readAllocations(const std::filesystem::path& folder,
                                        const std::set<std::string>& excluded) {
    const int before = errno; // callers of NVML rely on it
    std::vector<Allocation> found;
    std::error_code missing;
    for (const auto& entry : std::filesystem::directory_iterator(folder, missing)) {
        if (excluded.contains(entry.path().string()))
            continue;
        Allocation allocation{lockerOf(entry.path()), {}, 0};
        std::ifstream file(entry.path());
        if (allocation.pid != 0 && file >> allocation.gpu >> allocation.bytes)
            found.push_back(std::move(allocation));
    }
    errno = before;
    return found;
}

std::filesystem::path folderOfLibrary(const void* symbol) {
    Dl_info info{};
    std::error_code failed;
    if (::dladdr(symbol, &info) == 0 || info.dli_fname == nullptr)
        return {};
    return std::filesystem::canonical(info.dli_fname, failed).parent_path();
}

} // namespace genv::fake_nvml
