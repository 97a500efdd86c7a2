// SPDX-License-Identifier: LGPL-2.1-or-later
// Adapter: controls the gate that genv-isolation set up for GPU device nodes, through its pinned
// maps. This class only changes maps. It can neither load a program nor remove the gate, so the
// service needs no capability for that. Each call makes a few system calls that do not block.
#pragma once

#include "core/ports/gates.hpp"
#include "service/isolation/gate_maps.hpp"
#include "service/isolation/identity_map.hpp"

#include <sys/types.h>

#include <array>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace genv::service {

class KernelGates : public core::Gates {
  public:
    explicit KernelGates(std::filesystem::path pins = isolation::defaultPins);

    [[nodiscard]] std::string absence() override;
    [[nodiscard]] bool isUnusable() const override { return isUnusable_; }
    [[nodiscard]] std::uint64_t generation() const override { return generation_; }
    [[nodiscard]] core::GateMode mode() override;
    void setMode(core::GateMode mode) override;
    [[nodiscard]] bool isSuspended() override;
    void setSuspended(bool suspended) override;
    [[nodiscard]] bool guard(std::uint32_t major) override;
    [[nodiscard]] bool guardRenderNodes(const std::set<core::DeviceNode>& nodes) override;
    [[nodiscard]] std::vector<core::Grant> grants() override;
    void grant(const core::Grant& grant) override;
    void revoke(const core::Grant& grant) override;
    [[nodiscard]] std::optional<core::Uid> granteeOf(core::Uid uid) override;
    [[nodiscard]] std::vector<core::RefusedOpens> refusals() override;
    [[nodiscard]] const std::vector<core::UidRange>& exempt() const override { return exempt_; }

    /// Returns whether a BPF file system, which a gate requires, is mounted at `folder`.
    static bool hasBpfFileSystem(const std::filesystem::path& folder);

    /// Makes the kernel use these blocks, and no others, for subordinate and exempt uids. A block
    /// that is still wanted is in effect throughout.
    void setIdentities(const std::vector<isolation::IdentityBlock>& wanted);
    /// Returns the users with a uid of systemd's DynamicUser= whom the kernel does not exempt,
    /// because they are no services; nobody if there is no gate.
    [[nodiscard]] std::set<core::Uid> people();

  private:
    /// Identifies the current file at a path. A file that was removed and created again differs.
    struct Place {
        dev_t device = 0;
        ino_t inode = 0;

        friend bool operator==(const Place&, const Place&) = default;
    };
    static constexpr std::size_t pinCount = isolation::gateMapCount + 1; // the maps and the link

    /// Returns the places of all pins. If one is missing, returns nothing and sets `missing` to its
    /// name.
    std::optional<std::array<Place, pinCount>> findPins(std::string& missing) const;
    [[nodiscard]] std::string reasonWithout(const std::string& missing) const;
    /// Opens the current maps unless they are open already. Returns the reason if that fails.
    std::string refresh();
    std::string open(const std::array<Place, pinCount>& places);
    /// Calls `act` with the maps. `what` describes the failed operation in errors.
    void use(const std::string& what, const std::function<void(const isolation::GateMapSet&)>& act);

    std::filesystem::path pins_;
    std::array<Place, pinCount> places_{};
    std::optional<isolation::GateMapSet> maps_;
    std::vector<core::UidRange> exempt_; ///< by the last setIdentities()
    std::uint64_t generation_ = 0;
    bool isUnusable_ = false;
};

} // namespace genv::service
