// SPDX-License-Identifier: LGPL-2.1-or-later
// What stays of an environment whose last shell or command is gone: compute processes that still
// use its GPUs keep them. Said to its owner where they leave it, with the command that ends it.
#pragma once

#include "genv/types.hpp"

#include <optional>
#include <string>

namespace genv {
class Client;
}

namespace genv::ctl {

class Context;

/// "environment 12 keeps GPU 0, which process 34 still uses", and how to end that.
struct LingeringSentence {
    std::string text;
    std::string hint;
};
LingeringSentence describeLingering(const std::string& environment,
                                    const std::vector<std::uint32_t>& devices,
                                    const std::vector<std::uint32_t>& processes);

/// Warns when an environment lingers, after the call that may have ended it.
void warnOfLingering(Client& client, const std::string& id);

/// The same where the service may yet have to find out, as when a process of the environment has
/// just exited; waits for that, a second at most.
void warnOnceSettled(Client& client, const std::string& id);

/// Warns of the compute processes that will keep an environment when this process, its last, exits.
/// Says nothing where that is not so, or is not known in time.
void warnOfLeaving(Client& client, const std::string& id, std::uint32_t leaving);

/// Ends the processes that an environment lingers for, and waits until it has ended. Throws Failure
/// when other registered processes keep it, or when a process does not end.
void endLingering(Context& context, const std::string& id);

} // namespace genv::ctl
