// SPDX-License-Identifier: LGPL-2.1-or-later
// All workers of the service at once, connected as in the service, around a real ledger. Only their
// answers change it, on one thread, in whatever order they arrive.
#include "core/environments/root_process.hpp"
#include "service/gpu/gpu_observer.hpp"
#include "service/gpu/nvml_gpus.hpp"
#include "service/journal/journal_history.hpp"
#include "service/journal/logger.hpp"
#include "service/loop/worker.hpp"
#include "service/user_directory.hpp"
#include "tests/core/fakes.hpp"
#include "tests/service/mailbox.hpp"
#include "tests/service/proc_access.hpp"
#include "tests/service/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <thread>

namespace genv::tests {
namespace {

using namespace std::chrono_literals;

/// A driver whose devices appear and disappear from sample to sample, and that sometimes fails.
class RestlessGpus : public core::Gpus {
  public:
    core::GpuSample sample() override {
        const unsigned turn = turn_++;
        if (turn % 7 == 6)
            throw core::GpuError("it hangs");
        core::GpuSample result;
        for (core::DeviceIndex index = 0; index < 2 + turn % 3; ++index)
            result.devices.push_back(sampleOf(gpuFacts(index)));
        return result;
    }

  private:
    unsigned turn_ = 0;
};

/// The threads read it as well.
class TickingClock : public core::Clock {
  public:
    [[nodiscard]] core::WallTime wallNow() const override { return core::fromMicroseconds(next()); }
    [[nodiscard]] core::BootTime bootNow() const override {
        return core::BootTime{std::chrono::microseconds{next()}};
    }

  private:
    [[nodiscard]] std::uint64_t next() const { return ++ticks_; }

    mutable std::atomic<std::uint64_t> ticks_{1'000'000};
};

class Workers : public ::testing::Test {
  protected:
    /// Processes messages and turns the loop until every request is answered.
    void settle() {
        while (outstanding > 0) {
            scheduler.turn();
            if (outstanding > 0 && inFlight > 0) {
                mailbox.take();
                --inFlight;
            } else {
                std::this_thread::yield();
            }
        }
    }
    service::Worker::Post post() {
        return [this, deliver = mailbox.post()](std::function<void()> message) {
            ++inFlight;
            deliver(std::move(message));
        };
    }

    void attach(const core::EnvironmentId& id, core::Uid uid) {
        try {
            ledger.attach(id,
                          core::place({core::CountWanted{1}, std::nullopt, gigabytes(4), false},
                                      ledger.devices(), ledger.find(id)),
                          uid);
            ++attached;
        } catch (const core::Error&) {
            ++refused;
        }
    }

    Mailbox mailbox;
    TickingClock clock;
    FakeScheduler scheduler;
    FakeStore store;
    FakeProcesses processes;
    core::EventHub events;
    core::Ledger ledger{store, clock, events};
    std::atomic<int> inFlight{0};
    int outstanding = 0;
    int attached = 0;
    int refused = 0;
};

TEST_F(Workers, AllAnswerIntoOneLedger) {
    constexpr core::Pid rounds = 120;
    const TemporaryFolder noJournal;
    std::atomic<int> lookups{0};
    int pages = 0;
    service::Logger log;
    events.subscribe([&](const core::Event& event) {
        log.write(core::Severity::Debug, std::to_string(event.index()));
    });
    {
        service::UserDirectory users(clock, scheduler, log, post(), [&](core::Uid uid) {
            ++lookups;
            return core::UserInfo{uid, "user" + std::to_string(uid), {}};
        });
        service::JournalHistory history(post(), {noJournal.path(), std::nullopt});
        service::Worker jupyterKernels("genvd-kernels", post());
        service::GpuObserver observer(std::make_unique<RestlessGpus>(), procAccess(), clock,
                                      scheduler, post());
        observer.onObservation([&](const core::Observation* observation, const std::string&) {
            if (observation != nullptr)
                ledger.observed(*observation);
            else
                ledger.driverFailed();
        });
        const auto request = [&](core::Pid pid) {
            const core::EnvironmentId id = std::to_string(pid);
            const core::Uid uid = 1001 + pid % 50;
            processes.add(pid, uid);
            outstanding += 4;
            users.describe(uid, [&, id, uid, pid](const core::UserInfo& user) {
                ledger.activate(
                    {id, uid, user.name, {}, {core::adopt(processes.pin(pid), uid, uid)}, {}},
                    std::nullopt, uid);
                --outstanding;
                jupyterKernels.run<int>([pid] { return static_cast<int>(pid); },
                                        [&, id, uid](int) {
                                            attach(id, uid);
                                            --outstanding;
                                        });
            });
            observer.observe(pid % 2 == 0 ? 0ms : 1ms,
                             [&](const auto&, const std::string&) { --outstanding; });
            history.read(uid, {}, [&](const core::HistoryPage& page) {
                EXPECT_TRUE(page.failure);
                ++pages;
                --outstanding;
            });
        };
        // All environments together may be faster than every observation of a device. The first one
        // asks when the ledger knows devices, so that at least one is attached.
        ++outstanding;
        observer.observe(0ms, [&](const auto&, const std::string&) { --outstanding; });
        settle();
        request(10);
        settle();
        ASSERT_EQ(attached, 1);
        for (core::Pid pid = 11; pid < 10 + rounds; ++pid)
            request(pid);
        settle();
    }
    EXPECT_EQ(ledger.environments().size(), rounds);
    EXPECT_EQ(attached + refused, static_cast<int>(rounds));
    EXPECT_EQ(pages, static_cast<int>(rounds));
    EXPECT_EQ(lookups, 50);
    for (const auto& [index, device] : ledger.devices().byIndex()) {
        core::Bytes given;
        for (const core::Holder& holder : device.holders)
            given = given + holder.attachment.share.value_or(device.facts.totalMemory);
        EXPECT_LE(given, device.facts.totalMemory) << "device " << index;
    }
    for (core::Pid pid = 10; pid < 10 + rounds; ++pid)
        ledger.processExited({pid, 7});
    EXPECT_TRUE(ledger.environments().empty());
    EXPECT_TRUE(store.documents.empty());
}

TEST_F(Workers, TheHelpersLinesAreReadOnTheWorker) {
    const TemporaryFolder folder;
    const std::filesystem::path helper = folder.path() / "helper";
    std::ofstream(helper) << R"(#!/bin/sh
n=0
while read -r request; do
    n=$((n + 1))
    printf '{"sample":%d,"driver":null,"gpus":2,"devices":[' $n
    printf '{"gpu":0,"mig":null,"uuid":"GPU-0","model":"A","total":16000000000,"nodes":[],"pci":null,"unified":false,"free":null,"unaccounted":null,"persistence":true,"used":1,'
    printf '"sensors":{"utilization_percent":1,"temperature_celsius":30,"power_milliwatts":1,"power_limit_milliwatts":null},'
    printf '"xid":null}],"failed":[],"uses":[],"nodes":[]}\n'
done
)";
    std::filesystem::permissions(helper, std::filesystem::perms::owner_all);
    constexpr int samples = 20;
    int observed = 0;
    service::GpuObserver observer(
        std::make_unique<service::NvmlGpus>(service::NvmlSettings{helper, {}, 30s, 30s}),
        procAccess(), clock, scheduler, post());
    observer.onObservation([&](const core::Observation* observation, const std::string& failure) {
        ASSERT_NE(observation, nullptr) << failure;
        ledger.observed(*observation);
        ++observed;
    });
    for (int i = 0; i < samples; ++i) {
        ++outstanding;
        observer.observe(0ms, [&](const auto&, const std::string&) { --outstanding; });
        settle();
    }
    EXPECT_EQ(observed, samples);
    EXPECT_NE(ledger.devices().findUuid("GPU-0"), nullptr);
}

} // namespace
} // namespace genv::tests
