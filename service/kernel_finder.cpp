// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/kernel_finder.hpp"

#include "service/proc_files.hpp"

#include <algorithm>

namespace genv::service {

namespace {

bool hasConnectionFile(const std::vector<std::string>& arguments, const std::string& file) {
    return std::any_of(arguments.begin(), arguments.end(), [&](const std::string& argument) {
        const std::size_t start = argument.find_last_of("/=");
        return argument.compare(start == std::string::npos ? 0 : start + 1, std::string::npos,
                                file) == 0;
    });
}

std::optional<core::ProcessIdentity> findKernel(core::Uid owner, const std::string& kernel) {
    const std::string file = "kernel-" + kernel + ".json";
    for (const core::Pid pid : listProcesses()) {
        const auto before = readProcess(pid);
        if (!before || !before->uids.areAll(owner) || !hasConnectionFile(readArguments(pid), file))
            continue;
        const auto after = readProcess(pid);
        if (after && after->identity == before->identity)
            return after->identity;
    }
    return std::nullopt;
}

} // namespace

void KernelFinder::find(core::Uid owner, const std::string& kernel,
                        std::function<void(std::optional<core::ProcessIdentity>)> answer) {
    worker_.run<std::optional<core::ProcessIdentity>>(
        [owner, kernel] { return findKernel(owner, kernel); }, std::move(answer));
}

} // namespace genv::service
