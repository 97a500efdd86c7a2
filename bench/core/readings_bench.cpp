// SPDX-License-Identifier: LGPL-2.1-or-later
// Measures an hour of readings: adding a sample, and returning a page as ListReadings does.
#include "bench/core/machine.hpp"
#include "core/devices/reading_ring.hpp"

namespace genv::bench {

namespace {

constexpr std::size_t rowsOfAPage = 8192;

/// The devices of a machine as in the next sample.
class Samples {
  public:
    explicit Samples(const Machine& machine) {
        for (const core::DeviceSample& sample : machine.seen.devices) {
            core::TableDevice device;
            device.facts = sample.facts;
            device.reading = {core::Bytes{1ULL << 30U}, 93, 38, 250'000};
            devices_.insert(std::move(device));
        }
    }

    const core::Observation& next() {
        next_.started += std::chrono::seconds{10};
        next_.takenAt += std::chrono::seconds{10};
        for (const auto& [index, device] : devices_.byIndex())
            devices_.at(index).sampledAt = next_.takenAt;
        return next_;
    }
    [[nodiscard]] const core::DeviceTable& devices() const { return devices_; }

  private:
    core::DeviceTable devices_;
    core::Observation next_;
};

struct FullRing {
    explicit FullRing(const Machine& machine) : samples(machine) {
        for (std::size_t i = 0; i < core::ReadingRing::maxMoments; ++i)
            ring.observed(samples.devices(), samples.next());
    }
    Samples samples;
    core::ReadingRing ring;
};

void measureSample(benchmark::State& state, const Machine& machine) {
    FullRing full(machine);
    const core::Observation* next = nullptr;
    timeAlone(
        state, [&] { next = &full.samples.next(); },
        [&] { full.ring.observed(full.samples.devices(), *next); }, [] {});
}

void measurePage(benchmark::State& state, const Machine& machine) {
    const FullRing full(machine);
    for ([[maybe_unused]] auto _ : state) {
        const auto rows = full.ring.after({}, rowsOfAPage, full.samples.devices());
        benchmark::DoNotOptimize(rows.data());
    }
}

} // namespace

void addReadingsBenchmarks(const SharedMachine& machine) {
    addBenchmark("readings, a sample", machine, measureSample)->UseManualTime();
    addBenchmark("readings, a page", machine, measurePage);
}

} // namespace genv::bench
