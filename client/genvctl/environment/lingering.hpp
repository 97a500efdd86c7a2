// SPDX-License-Identifier: LGPL-2.1-or-later
// Lingering environments: the last shell or command is gone, but compute processes still use the
// GPUs and keep them. The owner is warned when leaving, and is given the command that ends them.
#pragma once

#include "genv/types.hpp"

#include <optional>
#include <string>

namespace genv {
class Client;
}

namespace genv::ctl {

class Context;

/// "environment 12 keeps GPU 0, which process 34 still uses", and the command that ends it.
struct LingeringSentence {
    std::string text;
    std::string hint;
};
LingeringSentence describeLingering(const std::string& environment,
                                    const std::vector<std::uint32_t>& devices,
                                    const std::vector<std::uint32_t>& processes);

/// Warns if an environment lingers, after the call that may have ended it.
void warnOfLingering(Client& client, const std::string& id);

/// Warns about compute processes that will keep the environment when this process, its last one,
/// exits. Prints nothing if there are none or if they are not known in time.
void warnOfLeaving(Client& client, const std::string& id, std::uint32_t leaving);

/// Ends the processes that keep a lingering environment, and waits until it has ended. Throws
/// Failure if other registered processes keep it, or if a process does not end.
void endLingering(Context& context, const std::string& id);

} // namespace genv::ctl
