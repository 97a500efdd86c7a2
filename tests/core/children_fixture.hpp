// SPDX-License-Identifier: LGPL-2.1-or-later
// A fixture for environments within environments.
#pragma once

#include "tests/core/lingering_fixture.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace genv::tests {

class ChildrenTest : public LingeringTest {
  protected:
    using Indices = std::vector<core::DeviceIndex>;

    ChildrenTest() {
        allowed = false; // nothing lingers unless a test allows it
        haveGpus(4);
    }

    static core::AttachRequest count(std::uint32_t wanted,
                                     std::optional<core::Bytes> share = std::nullopt,
                                     bool overSubscribe = false) {
        return {core::CountWanted{wanted}, std::nullopt, share, overSubscribe};
    }
    /// Activates a child whose id is the PID of its process, as a client that does not wait does.
    void start(const std::string& parent, const std::string& id, core::Uid uid,
               const std::optional<core::AttachRequest>& request = count(1)) {
        const auto plan = request ? std::optional<core::Plan>(queue.place(
                                        *request, nullptr, std::nullopt, ledger.find(parent)))
                                  : std::nullopt;
        ledger.activate(child(parent, id, uid), plan, uid);
    }
    /// Does the same as a client that waits.
    void startInQueue(const std::string& parent, const std::string& id, core::Uid uid,
                      const core::AttachRequest& request = count(1)) {
        const core::Plan plan =
            queue.placeOrWait(request, nullptr, std::nullopt, ledger.find(parent));
        ledger.activate(child(parent, id, uid), plan, uid);
        if (std::holds_alternative<core::PlannedWait>(plan))
            await(queue, id, ledger.get(id).waits.back().ticket);
        scheduler.turn();
    }
    core::NewEnvironment child(const std::string& parent, const std::string& id, core::Uid uid) {
        core::NewEnvironment wanted =
            newEnvironment(id, uid, static_cast<core::Pid>(std::stoul(id)));
        wanted.parent = parent;
        return wanted;
    }
    /// Activates an environment with shares of devices.
    void holdingShares(const std::string& id, core::Uid uid, Indices devices, core::Bytes share) {
        activate(id, uid);
        attach(id, {core::IndicesWanted{std::move(devices)}, std::nullopt, share, false});
    }
    /// Returns the environments that ended, in this order, with the reasons.
    [[nodiscard]] std::vector<std::string> ended() const {
        std::vector<std::string> texts;
        for (const auto& event : emittedOf<core::EnvironmentRemoved>())
            texts.push_back(event.environment + " " + event.cause.reason.text());
        return texts;
    }
    /// Returns the detached devices as "ENVIRONMENT/INDEX REASON", in this order.
    [[nodiscard]] std::vector<std::string> detached() const {
        std::vector<std::string> texts;
        for (const auto& event : emittedOf<core::Detached>())
            texts.push_back(event.environment + "/" +
                            std::to_string(event.attachment.device.index) + " " +
                            event.cause.reason.text());
        return texts;
    }
    /// Returns the code and the sentence of the error that a function throws.
    template <typename Function>
    static std::pair<core::ErrorCode, std::string> refusal(Function&& function) {
        try {
            std::forward<Function>(function)();
        } catch (const core::Error& error) {
            return {error.code(), error.what()};
        }
        return {core::ErrorCode::Internal, "nothing was refused"};
    }
};

using Refusal = std::pair<core::ErrorCode, std::string>;
using Words = std::vector<std::string>;

} // namespace genv::tests
