// SPDX-License-Identifier: LGPL-2.1-or-later
// The devices, environments, processes and waiting requests of one machine as JSON, for genvctl and
// genv-top.
#pragma once

#include "client/genvctl/objects/schema.hpp"
#include "genv/client.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace genv::ctl {

/// The GPU memory used by the processes of each environment, by id. The number is unset if the
/// driver does not report the memory of one of the processes.
using MemoryInUse = std::map<std::string, std::optional<std::uint64_t>>;
MemoryInUse memoryInUse(const std::vector<ProcessDescription>& processes);

/// Returns the memory of one environment; nothing if it is not known.
std::optional<std::uint64_t> memoryOf(const std::optional<MemoryInUse>& memory,
                                      const std::string& id);

/// The answers of a service about its machine.
struct MachineAnswers {
    Machine machine;
    std::vector<WaitingRequest> queue;
    std::optional<std::vector<ProcessDescription>> processes; ///< unset: not known
};

/// Makes the objects of one machine.
class MachineObjects {
  public:
    using IdsByDevice = std::map<std::uint32_t, std::vector<std::string>>;

    /// `answers` must outlive this object. If `gpus` is not empty, the lists have only these
    /// devices and the environments and processes that use them.
    explicit MachineObjects(const MachineAnswers& answers, std::vector<std::uint32_t> gpus = {});

    /// Lists of all devices, environments, processes and requests. The processes are null if they
    /// are not known.
    [[nodiscard]] Json devices() const;
    [[nodiscard]] Json environments() const;
    [[nodiscard]] Json processes() const;
    [[nodiscard]] Json queue() const;

    [[nodiscard]] Json environment(const Environment& environment) const;

  private:
    [[nodiscard]] bool areChosen(const std::vector<std::uint32_t>& devices) const;
    /// Returns the hold of an environment, without its share and its start.
    [[nodiscard]] Json hold(std::uint32_t index, const std::string& id) const;
    [[nodiscard]] Json attachment(const Attachment& attachment) const;
    [[nodiscard]] Json device(const DeviceState& state) const;
    [[nodiscard]] Json wait(const WaitingRequest& waiting) const;

    const MachineAnswers& answers_;
    std::vector<std::uint32_t> gpus_;
    std::map<std::string, const Environment*> environments_;            ///< by id
    std::map<std::string, std::vector<const Attachment*>> attachments_; ///< by environment
    IdsByDevice parked_;                                                ///< environments
    IdsByDevice nested_;
    std::map<std::string, Time> resumes_; ///< expected ones, by the id of the environment
    std::optional<MemoryInUse> memory_;
};

/// Returns an environment with all that the service knows of it, but for the use of its GPUs.
Json environmentObject(Client& client, const std::string& id);

/// Returns the number of the job of genv or of Slurm that an environment belongs to.
std::optional<std::uint32_t> jobOfEnvironment(const std::string& id);

} // namespace genv::ctl
