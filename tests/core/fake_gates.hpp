// SPDX-License-Identifier: LGPL-2.1-or-later
// A stand-in for the kernel's gate, controlled by a test.
#pragma once

#include "core/base/error.hpp"
#include "core/ports/gates.hpp"
#include "core/ports/reported_opens.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace genv::tests {

class FakeGates : public core::Gates {
  public:
    std::string why;          ///< why there is no gate; empty if there is one
    bool unusable = false;    ///< a gate exists all the same
    std::uint64_t number = 0; ///< the gate's generation
    core::GateMode inMode = core::GateMode::Open;
    bool suspended = false;
    std::set<std::uint32_t> majors{195};
    std::set<std::uint32_t> unguardable; ///< majors that guard() does not accept as a GPU's
    bool guardsRenderNodes = false;      ///< the loader has read IsolationRenderNodes=yes
    std::set<core::DeviceNode> renderNodes;
    std::set<core::Grant> granted;
    std::map<core::Uid, std::optional<core::Uid>> grantees; ///< unset: exempt
    std::vector<core::RefusedOpens> counted;
    std::vector<core::UidRange> exempted;
    std::vector<std::string> calls; ///< "+MAJOR:MINOR UID" and "-MAJOR:MINOR UID", in order
    bool fails = false;             ///< the kernel accepts no change
    bool isFull = false;            ///< the kernel accepts no further grant

    std::string absence() override { return why; }
    bool isUnusable() const override { return unusable; }
    std::uint64_t generation() const override { return number; }
    core::GateMode mode() override { return inMode; }
    void setMode(core::GateMode mode) override {
        step();
        inMode = mode;
    }
    bool isSuspended() override { return suspended; }
    void setSuspended(bool isSuspended) override {
        step();
        suspended = isSuspended;
    }
    bool guard(std::uint32_t major) override {
        if (!unguardable.contains(major))
            majors.insert(major);
        return majors.contains(major);
    }
    bool guardRenderNodes(const std::set<core::DeviceNode>& nodes) override {
        if (guardsRenderNodes)
            renderNodes = nodes;
        return guardsRenderNodes;
    }
    std::vector<core::Grant> grants() override { return {granted.begin(), granted.end()}; }
    void grant(const core::Grant& grant) override {
        step();
        if (isFull && !granted.contains(grant))
            core::fail(core::ErrorCode::IsolationFailed, "the kernel's table for it is full");
        calls.push_back("+" + text(grant));
        granted.insert(grant);
    }
    void revoke(const core::Grant& grant) override {
        step();
        calls.push_back("-" + text(grant));
        granted.erase(grant);
    }
    std::optional<core::Uid> granteeOf(core::Uid uid) override {
        step();
        const auto found = grantees.find(uid);
        return found == grantees.end() ? std::optional(uid) : found->second;
    }
    std::vector<core::RefusedOpens> refusals() override { return counted; }
    const std::vector<core::UidRange>& exempt() const override { return exempted; }

    /// Returns the grants as texts, "MAJOR:MINOR UID" or "MAJOR:MINOR all".
    [[nodiscard]] std::set<std::string> texts() const {
        std::set<std::string> all;
        for (const core::Grant& grant : granted)
            all.insert(text(grant));
        return all;
    }

  private:
    static std::string text(const core::Grant& grant) {
        return std::to_string(grant.node.major) + ":" + std::to_string(grant.node.minor) + " " +
               (grant.uid ? std::to_string(*grant.uid) : "all");
    }
    void step() const {
        if (fails || !why.empty())
            core::fail(core::ErrorCode::IsolationFailed, "the kernel takes no change");
    }
};

/// What was reported of the gate's counters, in memory.
class KeptReports : public core::ReportedOpensStore {
  public:
    std::optional<std::vector<core::ReportedOpens>> kept{std::vector<core::ReportedOpens>{}};
    std::size_t writes = 0;

    std::optional<std::vector<core::ReportedOpens>> read() override { return kept; }
    void write(const std::vector<core::ReportedOpens>& reported) noexcept override {
        kept = reported;
        ++writes;
    }
};

} // namespace genv::tests
