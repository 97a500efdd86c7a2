// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/processes/jupyter_kernel_finder.hpp"

#include "service/processes/proc_files.hpp"
#include "service/processes/proc_text.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <variant>

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

// Returns how an argument names the file, given the argument before it.
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
    // The first argument is the program's name.
    for (std::size_t i = 1; i < arguments.size(); ++i)
        best = std::max(best, namingBy(arguments[i], arguments[i - 1], file));
    return best;
}

// The number of processes to read at once. Each may have 64 KiB of arguments.
constexpr std::size_t batchSize = 64;

// A search for one Jupyter kernel of an owner.
class Search {
  public:
    Search(ProcReader& reader, core::Uid owner, std::string file)
        : reader_(reader), owner_(owner), file_(std::move(file)) {}

    [[nodiscard]] core::JupyterKernels::Found find(core::Pid asking) {
        if (asking != 0) {
            const auto requester = lookAt({asking});
            if (!requester.empty())
                return {requester.front().facts.identity};
        }
        std::vector<Candidate> candidates = lookAtAll();
        Naming best = Naming::None;
        for (const Candidate& each : candidates)
            best = std::max(best, each.naming);
        std::erase_if(candidates, [best](const Candidate& each) { return each.naming != best; });
        core::JupyterKernels::Found found;
        for (const Candidate& candidate : candidates) {
            if (!isForkOfAnother(candidate, candidates))
                found.push_back(candidate.facts.identity);
        }
        return found;
    }

  private:
    std::vector<Candidate> lookAtAll() {
        std::vector<Candidate> candidates;
        std::vector<core::Pid> some;
        const auto look = [&] {
            auto found = lookAt(std::exchange(some, {}));
            std::move(found.begin(), found.end(), std::back_inserter(candidates));
        };
        for (const core::Pid pid : listProcesses()) {
            if (ownerOf(pid) != owner_)
                continue;
            some.push_back(pid);
            if (some.size() == batchSize)
                look();
        }
        look();
        return candidates;
    }

    // Returns the processes of the owner that name the file.
    std::vector<Candidate> lookAt(const std::vector<core::Pid>& pids) {
        std::vector<ProcRequest> requests;
        for (const core::Pid pid : pids) {
            requests.push_back({pid, ProcPart::Facts});
            requests.push_back({pid, ProcPart::Arguments});
            requests.push_back({pid, ProcPart::Facts});
        }
        const std::vector<ProcReading> readings = reader_.read(requests, budget_);
        std::vector<Candidate> candidates;
        for (std::size_t i = 0; i < readings.size(); i += 3) {
            const auto* before = std::get_if<core::ProcessFacts>(&readings[i]);
            const auto* arguments = std::get_if<ProcArguments>(&readings[i + 1]);
            const auto* after = std::get_if<core::ProcessFacts>(&readings[i + 2]);
            if (before == nullptr || arguments == nullptr || after == nullptr ||
                after->identity != before->identity || !before->uids.areAll(owner_) ||
                !after->uids.areAll(owner_))
                continue;
            Candidate candidate{*after, splitArguments(arguments->text), Naming::None};
            candidate.naming = namingIn(candidate.arguments, file_);
            if (candidate.naming != Naming::None)
                candidates.push_back(std::move(candidate));
        }
        return candidates;
    }

    bool isForkOfAnother(const Candidate& candidate, const std::vector<Candidate>& all) {
        const ProcReading reading =
            reader_.read({candidate.facts.identity.pid, ProcPart::Lineage}, budget_);
        const auto* lineage = std::get_if<core::Lineage>(&reading);
        if (lineage == nullptr)
            return false;
        const auto& ancestors = lineage->ancestors;
        return std::any_of(all.begin(), all.end(), [&](const Candidate& other) {
            return other.arguments == candidate.arguments &&
                   std::find(ancestors.begin(), ancestors.end(), other.facts.identity) !=
                       ancestors.end();
        });
    }

    ProcReader& reader_;
    const core::Uid owner_;
    const std::string file_;
    ProcBudget budget_;
};

} // namespace

void JupyterKernelFinder::find(core::Uid requester, core::Uid owner,
                               const std::string& jupyterKernel, core::Pid asking,
                               std::function<void(Found)> answer) {
    worker_.run<Found>(
        requester,
        [&reader = reader_, owner, jupyterKernel, asking] {
            return Search(reader, owner, "kernel-" + jupyterKernel + ".json").find(asking);
        },
        std::move(answer));
}

} // namespace genv::service
