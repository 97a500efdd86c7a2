// SPDX-License-Identifier: LGPL-2.1-or-later
// The GPUs of a machine with NVIDIA's driver. The driver is asked by a helper process, genv-nvml,
// which is replaced when it hangs or crashes; what must outlast it is kept here.
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

/// The helper process and how long it may take.
struct NvmlSettings {
    std::filesystem::path helper;                      ///< genv-nvml, unless there is a socket
    std::vector<std::string> arguments;                ///< further ones, such as --library
    std::chrono::milliseconds firstAnswerTime{15'000}; ///< starting the driver is slow
    std::chrono::milliseconds answerTime{5'000};
    /// Where systemd starts a helper for each connection; none: it is a child.
    std::filesystem::path socket{};
    /// The least time from one connection to the next, since each costs systemd a start.
    std::chrono::milliseconds connectionInterval{1'000};
};

/// Samples through NVML. sample() lasts as long as the settings say and a second at most. Neither a
/// child nor a connection outlasts the failure of a sample. All calls
/// are made by one thread, which outlives this: the kernel ends a helper with the thread that
/// started it.
class NvmlGpus final : public core::Gpus {
  public:
    explicit NvmlGpus(NvmlSettings settings);
    ~NvmlGpus() override;

    /// Takes a sample. "No driver" is said only until one has worked; from then on it is an error
    /// like others, since a driver that is being replaced leaves its devices where they are.
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
    std::list<ChildProcess> hanging_;                        // killed, and not dead yet
    std::chrono::steady_clock::time_point nextConnection_{}; // not before
    std::uint64_t sample_ = 0;                               // the number of the last one
    NvmlDevices devices_;
    bool driverHasWorked_ = false;
};

} // namespace genv::service
