// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/kernel_finder.hpp"

#include "service/proc_files.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

namespace genv::service {

namespace {

enum class Naming {
    None,
    Mentioned, ///< among the arguments
    Given,     ///< as the value of an option
};

struct Candidate {
    core::ProcessFacts facts;
    std::vector<std::string> arguments;
    Naming naming = Naming::None;
};

bool isExisting(std::string_view option) {
    return option.substr(0, option.find('=')) == "--existing";
}

// How an argument names the file, by itself and by the one before it.
Naming namingBy(std::string_view argument, std::string_view before, std::string_view file) {
    const bool isAssigned = argument.starts_with('-') && argument.find('=') != argument.npos;
    const std::size_t start = argument.find_last_of(isAssigned ? "/=" : "/");
    if (argument.substr(start == argument.npos ? 0 : start + 1) != file)
        return Naming::None;
    if (isExisting(isAssigned ? argument : before))
        return Naming::None;
    return isAssigned || before == "-f" ? Naming::Given : Naming::Mentioned;
}

Naming namingIn(const std::vector<std::string>& arguments, const std::string& file) {
    Naming best = Naming::None;
    // The first is the program's name.
    for (std::size_t i = 1; i < arguments.size(); ++i)
        best = std::max(best, namingBy(arguments[i], arguments[i - 1], file));
    return best;
}

std::optional<Candidate> lookAt(core::Pid pid, core::Uid owner, const std::string& file) {
    const auto before = readProcess(pid);
    if (!before || !before->uids.areAll(owner))
        return std::nullopt;
    auto arguments = readArguments(pid);
    const Naming naming = namingIn(arguments, file);
    if (naming == Naming::None)
        return std::nullopt;
    const auto after = readProcess(pid);
    if (!after || after->identity != before->identity || !after->uids.areAll(owner))
        return std::nullopt;
    return Candidate{*after, std::move(arguments), naming};
}

bool isForkOfAnother(const Candidate& candidate, const std::vector<Candidate>& all) {
    const auto ancestors = readAncestors(candidate.facts);
    return std::any_of(all.begin(), all.end(), [&](const Candidate& other) {
        return other.arguments == candidate.arguments &&
               std::find(ancestors.begin(), ancestors.end(), other.facts.identity) !=
                   ancestors.end();
    });
}

core::Kernels::Found findKernel(core::Uid owner, const std::string& kernel, core::Pid asking) {
    const std::string file = "kernel-" + kernel + ".json";
    if (const auto asker = asking != 0 ? lookAt(asking, owner, file) : std::nullopt)
        return {asker->facts.identity};

    std::vector<Candidate> candidates;
    Naming best = Naming::None;
    for (const core::Pid pid : listProcesses()) {
        if (auto candidate = lookAt(pid, owner, file)) {
            best = std::max(best, candidate->naming);
            candidates.push_back(*std::move(candidate));
        }
    }
    std::erase_if(candidates, [best](const Candidate& each) { return each.naming != best; });
    core::Kernels::Found found;
    for (const Candidate& candidate : candidates) {
        if (!isForkOfAnother(candidate, candidates))
            found.push_back(candidate.facts.identity);
    }
    return found;
}

} // namespace

void KernelFinder::find(core::Uid asker, core::Uid owner, const std::string& kernel,
                        core::Pid asking, std::function<void(Found)> answer) {
    worker_.run<Found>(
        asker, [owner, kernel, asking] { return findKernel(owner, kernel, asking); },
        std::move(answer));
}

} // namespace genv::service
