// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/gpu/nvml_gpus.hpp"

#include "core/sentences/sentences.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <thread>
#include <utility>

namespace genv::service {

namespace {

// If this many helpers hang in the kernel, assume that the next one would hang as well.
constexpr std::size_t maxHanging = 2;

} // namespace

NvmlGpus::NvmlGpus(NvmlSettings settings) : settings_(std::move(settings)) {}

NvmlGpus::~NvmlGpus() = default;

core::GpuSample NvmlGpus::sample() {
    NvmlAnswer answer = takeAnswer();
    if (const auto* report = std::get_if<NvmlReport>(&answer)) {
        driverHasWorked_ = true;
        return devices_.update(*report);
    }
    // The next helper loads the library anew. After an upgrade, the old helper still has the old
    // library, which never works again.
    endHelper();
    if (const auto* failure = std::get_if<NvmlFailure>(&answer))
        throw core::GpuError(fmt::format("the NVIDIA driver does not work: {}", failure->reason));
    auto& reason = std::get<NvmlNoDriver>(answer).reason;
    if (driverHasWorked_)
        throw core::GpuError(fmt::format("the NVIDIA driver was unloaded: {}", reason));
    core::GpuSample sample;
    sample.noDriver = std::move(reason);
    return sample;
}

NvmlAnswer NvmlGpus::takeAnswer() {
    try {
        replaceEndedHelper();
        auto [sample, answer] = decodeAnswer(ask());
        if (sample != sample_)
            throw ProtocolError("it belongs to another sample");
        // cppcheck-suppress returnStdMoveLocal ; nothing moves a structured binding by itself
        return std::move(answer);
    } catch (const ProtocolError& error) {
        endHelper();
        throw core::GpuError(fmt::format("genv-nvml sent an invalid answer: {}", error.what()));
    } catch (const std::runtime_error& error) {
        endHelper();
        throw core::GpuError(fmt::format("genv-nvml {}", error.what()));
    }
}

void NvmlGpus::replaceEndedHelper() {
    if (helper_ && helper_->hasEnded())
        helper_.reset();
    if (helper_)
        return;
    helperHasAnswered_ = false;
    if (settings_.socket.empty())
        startHelper();
    else
        connectToHelper();
}

void NvmlGpus::startHelper() {
    hanging_.remove_if(
        [](ChildProcess& child) { return child.reap(std::chrono::milliseconds{0}).has_value(); });
    if (hanging_.size() > maxHanging)
        throw HelperError(fmt::format("hangs in the kernel: {}",
                                      core::counted(hanging_.size(), "process", "processes")));
    std::vector<std::string> arguments{fmt::format("--parent={}", ::getpid())};
    arguments.insert(arguments.end(), settings_.arguments.begin(), settings_.arguments.end());
    helper_.emplace(settings_.helper, arguments);
}

// The socket unit's MaxConnections= limits how many helpers may hang at once.
void NvmlGpus::connectToHelper() {
    std::this_thread::sleep_until(nextConnection_);
    nextConnection_ = std::chrono::steady_clock::now() + settings_.connectionInterval;
    helper_.emplace(settings_.socket);
}

std::string NvmlGpus::ask() {
    std::string answer =
        helper_->ask(encodeRequest(++sample_),
                     helperHasAnswered_ ? settings_.answerTime : settings_.firstAnswerTime);
    helperHasAnswered_ = true;
    return answer;
}

void NvmlGpus::endHelper() {
    if (!helper_)
        return;
    if (auto hanging = std::move(*helper_).end())
        hanging_.push_back(std::move(*hanging));
    helper_.reset();
}

} // namespace genv::service
