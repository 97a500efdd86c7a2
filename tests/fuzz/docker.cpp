// SPDX-License-Identifier: LGPL-2.1-or-later
// The shim of docker and podman: command lines, one word a line. A rewritten command line is valid,
// and rewriting it again changes nothing.
#include "shims/docker/rewrite.hpp"
#include "tests/fuzz/target.hpp"

namespace genv::fuzz::docker {

shims::RewriteFacts around(shims::ContainerEngine engine) {
    return {engine, "7",
            [] {
                return shims::View{{2, "GPU-c", 1U << 30U, std::nullopt, {}},
                                   {9, "MIG-e", 1U << 30U, std::nullopt, {}}};
            },
            [](const std::string& file) { return file.size() % 2 == 1; }};
}

GENV_FUZZ_TARGET(docker) {
    const std::vector<std::string_view> lines = linesIn(input);
    const shims::Words words{lines.begin(), lines.end()};
    for (const auto engine : {shims::ContainerEngine::Docker, shims::ContainerEngine::Podman}) {
        const shims::RewriteFacts surroundings = around(engine);
        shims::Words rewritten;
        try {
            rewritten = shims::rewrite(words, surroundings);
        } catch (const shims::RefusedRequest& refusal) {
            expectShowable(refusal.what(), "why a command is refused can be shown");
            expectShowable(refusal.hint(), "what would be right can be shown");
            continue;
        }
        expect(shims::rewrite(rewritten, surroundings) == rewritten,
               "a command line that is in order stays as it is");
    }
    shims::splitFields(input);
}

} // namespace genv::fuzz::docker
