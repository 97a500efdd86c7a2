// SPDX-License-Identifier: LGPL-2.1-or-later
// Keeps /run/genv/slurm/devices: which device each of Slurm's numbers means on this node. Slurm is
// asked when the service starts and when the configuration changes, never from within a prolog,
// where its answer would not come.
#pragma once

#include "core/ports/log.hpp"
#include "core/ports/scheduler.hpp"
#include "core/ports/slurm.hpp"
#include "service/shell/shell_folder.hpp"
#include "service/slurm/device_numbers.hpp"

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace genv::service {

class SlurmDeviceFile {
  public:
    /// Below `runtime`, which outlives the service. `slurm` outlives this.
    SlurmDeviceFile(const std::filesystem::path& runtime, core::Slurm& slurm,
                    core::Scheduler& scheduler, core::Log& log);
    ~SlurmDeviceFile();
    SlurmDeviceFile(const SlurmDeviceFile&) = delete;
    SlurmDeviceFile& operator=(const SlurmDeviceFile&) = delete;

    /// The configuration was read: whether Slurm has devices here (Devices= is not "none"). Asks
    /// Slurm which; without any there is no file. What was known stays until Slurm answers.
    void configured(bool hasDevices);
    /// The driver's devices, as of now.
    void observed(const std::vector<core::DeviceSample>& devices);
    /// Writes the file again if it could not be written; part of the service's regular retries.
    void retryWrites() {
        if (usesFolder_)
            folder_.retry();
    }

    /// By number; empty while Slurm or the driver has not answered.
    [[nodiscard]] const std::vector<SlurmDeviceRow>& rows() const { return table_.rows; }

  private:
    void ask();
    void onFailure(const core::SlurmFailure& failure);
    void join();
    void logUnknown(const SlurmDeviceTable& before) const;

    core::Slurm& slurm_;
    core::Scheduler& scheduler_;
    core::Log& log_;
    ShellFolder folder_;
    bool hasDevices_ = false;
    bool usesFolder_ = false;    ///< a machine without Slurm gets none
    std::uint64_t question_ = 0; ///< only the answer to the last one counts
    std::optional<std::vector<core::SlurmDevice>> listed_;
    std::optional<std::vector<core::DeviceSample>> devices_;
    SlurmDeviceTable table_;
    std::optional<std::string> text_; ///< what the file says; unset: there is none
    std::string trouble_;             ///< what was last logged
    std::chrono::milliseconds retryDelay_;
    std::unique_ptr<core::Scheduled> retry_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

} // namespace genv::service
