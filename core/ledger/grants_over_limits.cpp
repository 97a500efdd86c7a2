// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/ledger/grants_over_limits.hpp"

#include "core/ledger/ledger.hpp"

#include <algorithm>

namespace genv::core {

namespace {

enum class Marks { AsTheyAre, Removed, Added };

Marks changeOf(const EnvironmentRecord& environment, const GrantsOverLimits& over) {
    Marks change = Marks::AsTheyAre;
    const auto compare = [&](bool is, bool becomes) {
        if (is != becomes && change != Marks::Added)
            change = becomes ? Marks::Added : Marks::Removed;
    };
    compare(environment.overLimit, over.contains(environment));
    for (const DeviceAttachment& attachment : environment.attachments)
        compare(attachment.overLimit, over.contains(environment, attachment));
    return change;
}

} // namespace

// A mark is a fact: the limit has changed already. It changes nothing that anybody is told of.
std::vector<EnvironmentId> Ledger::markOverLimits(const GrantsOverLimits& over) {
    std::vector<EnvironmentRecord> nexts;
    std::vector<EnvironmentId> marked;
    for (const auto& [sequence, environment] : environments_) {
        const Marks change = changeOf(environment, over);
        if (change == Marks::AsTheyAre)
            continue;
        if (change == Marks::Added)
            marked.push_back(environment.id);
        EnvironmentRecord next = environment;
        next.overLimit = over.contains(next);
        for (DeviceAttachment& attachment : next.attachments)
            attachment.overLimit = over.contains(next, attachment);
        nexts.push_back(std::move(next));
    }
    for (EnvironmentRecord& next : nexts)
        applyFact(std::move(next), Cause::fact(Reason::admin()));
    return marked;
}

} // namespace genv::core
