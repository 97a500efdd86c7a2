// SPDX-License-Identifier: LGPL-2.1-or-later
// Adapter: the gate that genv-isolation put before the nodes of GPUs, by the maps that it pinned.
// It changes maps only. It can neither load a program nor take the gate away, so that the service
// needs no capability for it. Each call is a few system calls that do not wait.
#pragma once

#include "core/ports/gates.hpp"
#include "service/isolation/gate_maps.hpp"
#include "service/isolation/identity_map.hpp"

#include <sys/types.h>

#include <array>
#include <filesystem>
#include <functional>
#include <optional>
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
    [[nodiscard]] std::vector<core::Grant> grants() override;
    void grant(const core::Grant& grant) override;
    void revoke(const core::Grant& grant) override;
    [[nodiscard]] std::vector<core::Refusals> refusals() override;

    /// Whether a BPF file system is mounted there, in which alone a gate can be kept.
    static bool hasBpfFileSystem(const std::filesystem::path& folder);

    /// Has the kernel judge subordinate and exempt uids by these blocks, and by no others. Nobody
    /// loses a block that is still wanted meanwhile.
    void setIdentities(const std::vector<isolation::IdentityBlock>& wanted);

  private:
    /// Where a file is now: another one if it was removed and made again.
    struct Place {
        dev_t device = 0;
        ino_t inode = 0;

        friend bool operator==(const Place&, const Place&) = default;
    };
    static constexpr std::size_t pinCount = isolation::gateMapCount + 1; // and the link

    /// Of all pins; nothing if one is missing, whose name is then in `missing`.
    std::optional<std::array<Place, pinCount>> findPins(std::string& missing) const;
    [[nodiscard]] std::string reasonWithout(const std::string& missing) const;
    /// Opens the maps if they are not those that are open. Says why it cannot.
    std::string refresh();
    std::string open(const std::array<Place, pinCount>& places);
    /// Does it with the maps. `what` is what is then said to have failed.
    void use(const std::string& what, const std::function<void(const isolation::GateMapSet&)>& act);

    std::filesystem::path pins_;
    std::array<Place, pinCount> places_{};
    std::optional<isolation::GateMapSet> maps_;
    std::uint64_t generation_ = 0;
    bool isUnusable_ = false;
};

} // namespace genv::service
