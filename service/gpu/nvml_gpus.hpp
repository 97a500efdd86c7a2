// SPDX-License-Identifier: LGPL-2.1-or-later
// The GPUs of a machine with NVIDIA's driver. A helper process, genv-nvml, queries the driver and
// is replaced when it hangs or crashes. State that must outlast the helper is kept here.
#pragma once

#include "core/ports/gpus.hpp"
#include "service/gpu/nvml_devices.hpp"
#include "service/gpu/nvml_helper.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <list>
#include <optional>
#include <string>
#include <vector>

namespace genv::service {

/// The helper process and its timeouts.
struct NvmlSettings {
    std::filesystem::path helper;                      ///< genv-nvml, unless `socket` is set
    std::vector<std::string> arguments;                ///< additional arguments, such as --library
    std::chrono::milliseconds firstAnswerTime{15'000}; ///< starting the driver is slow
    std::chrono::milliseconds answerTime{5'000};
    /// The socket for which systemd starts one helper per connection. If empty, the helper is a
    /// child process.
    std::filesystem::path socket{};
    /// The minimum time between connections, because systemd starts a process for each.
    std::chrono::milliseconds connectionInterval{1'000};
};

/// Takes samples through NVML. sample() takes at most the timeout from the settings plus one
/// second. If a sample fails, the child or the connection ends with it. One thread must make all
/// calls and outlive this object, because the kernel ends a helper together with the thread that
/// started it.
class NvmlGpus final : public core::Gpus {
  public:
    explicit NvmlGpus(NvmlSettings settings);
    ~NvmlGpus() override;

    /// Takes a sample. Reports "no driver" only until a driver has worked. After that, a missing
    /// driver is an error like others, because a driver that is being replaced leaves its devices
    /// in place.
    core::GpuSample sample() override;

  private:
    void replaceEndedHelper();
    void startHelper();
    void connectToHelper();
    std::string ask();
    NvmlAnswer takeAnswer();
    void endHelper();

    NvmlSettings settings_;
    std::optional<NvmlHelper> helper_;
    bool helperHasAnswered_ = false;
    std::list<ChildProcess> hanging_;                        // killed, but not dead yet
    std::chrono::steady_clock::time_point nextConnection_{}; // not before this time
    std::uint64_t sample_ = 0;                               // the number of the last sample
    NvmlDevices devices_;
    bool driverHasWorked_ = false;
};

} // namespace genv::service
