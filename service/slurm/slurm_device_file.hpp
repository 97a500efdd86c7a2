// SPDX-License-Identifier: LGPL-2.1-or-later
// Keeps /run/genv/slurm/devices up to date, which maps Slurm's numbers to the devices of this node.
// The service queries Slurm when it starts and when the configuration changes. It never does so
// within a prolog, because Slurm would not reply then.
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
    /// The file is below `runtime`, which outlives the service. `slurm` must outlive this object.
    SlurmDeviceFile(const std::filesystem::path& runtime, core::Slurm& slurm,
                    core::Scheduler& scheduler, core::Log& log);
    ~SlurmDeviceFile();
    SlurmDeviceFile(const SlurmDeviceFile&) = delete;
    SlurmDeviceFile& operator=(const SlurmDeviceFile&) = delete;

    /// Handles a new configuration. `hasDevices` is false if Devices= is "none". Queries Slurm for
    /// its devices; without any, the file is removed. The known devices stay valid until Slurm
    /// answers.
    void configured(bool hasDevices);
    /// Updates the driver's devices.
    void observed(const std::vector<core::DeviceSample>& devices);
    /// Retries a failed write of the file. Part of the service's regular retries.
    void retryWrites() {
        if (usesFolder_)
            folder_.retry();
    }

    /// Returns the rows by number; empty until Slurm and the driver have answered.
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
    bool usesFolder_ = false;    ///< stays false on a machine without Slurm
    std::uint64_t question_ = 0; ///< only the answer to the last request counts
    std::optional<std::vector<core::SlurmDevice>> listed_;
    std::optional<std::vector<core::DeviceSample>> devices_;
    SlurmDeviceTable table_;
    std::optional<std::string> text_; ///< contents of the file; unset: the file does not exist
    std::string trouble_;             ///< the last logged problem
    std::chrono::milliseconds retryDelay_;
    std::unique_ptr<core::Scheduled> retry_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

} // namespace genv::service
