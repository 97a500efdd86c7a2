// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/slurm/slurm_device_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>
#include <variant>

namespace genv::service {

namespace {

constexpr const char* fileName = "devices";
// The delays between retries. At boot, slurmd usually starts shortly after genvd, but it may also
// be configured later. A job that starts meanwhile gets no environment.
constexpr std::chrono::milliseconds firstRetry{1'000};
constexpr std::chrono::milliseconds lastRetry{300'000};

} // namespace

SlurmDeviceFile::SlurmDeviceFile(const std::filesystem::path& runtime, core::Slurm& slurm,
                                 core::Scheduler& scheduler, core::Log& log)
    : slurm_(slurm), scheduler_(scheduler), log_(log),
      folder_(runtime / "slurm", log, "jobs get no environment until genvd can write it"),
      retryDelay_(firstRetry) {
    std::error_code none;
    usesFolder_ = std::filesystem::exists(runtime / "slurm", none);
    if (!usesFolder_)
        return;
    const auto& files = folder_.open();
    if (const auto found = files.find(fileName); found != files.end())
        text_ = found->second.text;
}

SlurmDeviceFile::~SlurmDeviceFile() {
    *alive_ = false;
}

void SlurmDeviceFile::configured(bool hasDevices) {
    hasDevices_ = hasDevices;
    usesFolder_ = usesFolder_ || hasDevices;
    retry_.reset();
    retryDelay_ = firstRetry;
    ++question_;
    if (hasDevices_) {
        ask();
        return;
    }
    listed_.reset();
    table_ = {};
    trouble_.clear();
    if (std::exchange(text_, std::nullopt))
        folder_.remove(fileName);
}

void SlurmDeviceFile::observed(const std::vector<core::DeviceSample>& devices) {
    if (!hasDevices_)
        return;
    devices_ = devices;
    join();
}

void SlurmDeviceFile::ask() {
    slurm_.listDevices([this, alive = alive_, question = question_](const auto& answer) {
        if (!*alive || question != question_)
            return;
        if (const auto* failure = std::get_if<core::SlurmFailure>(&answer)) {
            onFailure(*failure);
            return;
        }
        if (!std::exchange(trouble_, {}).empty())
            log_.info("Slurm has listed its GPUs of this node");
        listed_ = std::get<std::vector<core::SlurmDevice>>(answer);
        if (listed_->empty())
            log_.warning("Devices= in [Slurm] assigns GPUs to Slurm, but gres.conf names no device "
                         "file of this node");
        join();
    });
}

void SlurmDeviceFile::onFailure(const core::SlurmFailure& failure) {
    // Log each problem once, not at each retry.
    if (trouble_ != failure.reason)
        log_.warning("Slurm does not list its GPUs of this node: {}", failure.reason);
    trouble_ = failure.reason;
    retry_ = scheduler_.after(retryDelay_, [this] { ask(); });
    retryDelay_ = std::min(2 * retryDelay_, lastRetry);
}

void SlurmDeviceFile::join() {
    if (!listed_ || !devices_)
        return;
    const SlurmDeviceTable before = std::exchange(table_, joinSlurmDevices(*listed_, *devices_));
    logUnknown(before);
    std::string text = slurmDeviceText(table_.rows);
    if (text_ == text)
        return;
    text_ = text;
    folder_.write(fileName, {std::move(text), std::nullopt});
}

void SlurmDeviceFile::logUnknown(const SlurmDeviceTable& before) const {
    const auto isSame = [](const core::SlurmDevice& one, const core::SlurmDevice& other) {
        return one.number == other.number && one.node == other.node;
    };
    if (std::ranges::equal(before.unknown, table_.unknown, isSame))
        return;
    for (const core::SlurmDevice& device : table_.unknown)
        log_.warning("cannot find the GPU with the device node {}:{}, Slurm's GPU {}: jobs with "
                     "this GPU get no environment",
                     device.node.major, device.node.minor, device.number);
}

} // namespace genv::service
