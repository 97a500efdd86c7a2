// SPDX-License-Identifier: LGPL-2.1-or-later
// The metrics of many hosts in a scrape, and the escaping of a host's texts.
#include "client/monitor/foreign.hpp"
#include "client/monitor/metrics.hpp"
#include "client/monitor/old_genv_sample.hpp"

#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <sstream>

namespace genv::monitor {

namespace {

DeviceState deviceAt(std::uint32_t index) {
    DeviceState device;
    device.device = {index, "GPU-" + std::to_string(index), "M", 1000};
    device.health = "ok";
    device.sensors.utilizationPercent = 7;
    return device;
}

Environment environmentOf(const std::string& id, const std::string& user) {
    Environment environment;
    environment.id = id;
    environment.user = user;
    environment.devices = {0};
    return environment;
}

Sample serviceSample() {
    Sample sample;
    sample.isUp = true;
    sample.state.emplace();
    sample.state->machine.devices = {deviceAt(0)};
    sample.state->machine.environments = {environmentOf("1", "alice")};
    sample.state->processes = {{5, 1001, "1", {{0, 42}}}};
    return sample;
}

ServedHost served(const std::string& name, const Sample& sample) {
    return {name, {std::make_shared<const Sample>(sample), {}}};
}

std::vector<std::string> linesOf(const std::vector<ServedHost>& hosts,
                                 const Selection& selection = {}) {
    std::istringstream text(
        prometheus::TextSerializer().Serialize(collectMetrics(hosts, Time{}, selection)));
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);)
        lines.push_back(line);
    return lines;
}

bool contains(const std::vector<std::string>& lines, const std::string& wanted) {
    return std::ranges::find(lines, wanted) != lines.end();
}

// Returns the names of the metrics of a host.
std::set<std::string> namesOf(const std::vector<std::string>& lines, const std::string& host) {
    std::set<std::string> names;
    for (const std::string& line : lines) {
        if (line.find("{hostname=\"" + host + "\"") != std::string::npos)
            names.insert(line.substr(0, line.find('{')));
    }
    return names;
}

TEST(HostsMetrics, EnvironmentsOfJobsAreCountedAndNameTheirJob) {
    Sample sample = serviceSample();
    auto& environments = sample.state->machine.environments;
    environments = {environmentOf("1", "alice"), environmentOf("job-17.3-2", "alice"),
                    environmentOf("job-18@1002", "bob"), environmentOf("slurm-9", "bob"),
                    environmentOf("job-offer", "bob")};
    environments[1].devices = {0, 1};
    const auto lines = linesOf({served("h", sample)});
    EXPECT_TRUE(contains(lines, "genv_environments_of_jobs{hostname=\"h\"} 2"));
    EXPECT_TRUE(contains(lines, "genv_attached_devices_of_jobs{hostname=\"h\"} 2"));
    const auto info = [&](const std::string& eid, const std::string& user, const std::string& job,
                          const std::string& ofSlurm) {
        return contains(lines, "genv_environment_info{hostname=\"h\",eid=\"" + eid +
                                   "\",username=\"" + user + "\",name=\"\",job=\"" + ofSlurm +
                                   "\",genv_job=\"" + job + "\"} 1");
    };
    EXPECT_TRUE(info("1", "alice", "", ""));
    EXPECT_TRUE(info("job-17.3-2", "alice", "17", ""));
    EXPECT_TRUE(info("job-18@1002", "bob", "18", ""));
    EXPECT_TRUE(info("slurm-9", "bob", "", "9"));
    EXPECT_TRUE(info("job-offer", "bob", "", ""));
}

TEST(HostsMetrics, EachSeriesHasItsHostAndEachMetricOneHeader) {
    const auto lines = linesOf({served("h1", serviceSample()), served("h2:2222", serviceSample())});
    for (const char* series :
         {"genv_host_up{hostname=\"h1\"} 1", "genv_host_up{hostname=\"h2:2222\"} 1",
          "genv_is_installed{hostname=\"h1\"} 1", "genv_up{hostname=\"h2:2222\"} 1",
          "genv_device_utilization{hostname=\"h2:2222\",index=\"0\"} 7",
          "genv_user_processes_total{hostname=\"h1\",username=\"alice\"} 1"})
        EXPECT_TRUE(contains(lines, series)) << series;
    std::set<std::string> headers;
    for (const std::string& line : lines) {
        if (line.starts_with("# HELP")) {
            EXPECT_TRUE(headers.insert(line).second) << line;
        } else if (!line.starts_with('#') && !line.starts_with("genv_build_info")) {
            EXPECT_NE(line.find("{hostname=\"h"), std::string::npos) << line;
        }
    }
}

TEST(HostsMetrics, AHostHasTheMetricsOfThisMachineAndThoseOfHosts) {
    const Sample sample = serviceSample();
    std::set<std::string> own;
    for (const auto& family : collectMetrics({std::make_shared<const Sample>(sample), {}},
                                             std::chrono::seconds{1}, Time{}, {}))
        own.insert(family.name);
    own.erase("genv_build_info"); // the exporter's own, of which there is one
    own.insert({"genv_host_up", "genv_host_failures_total", "genv_host_left_out"});
    EXPECT_EQ(namesOf(linesOf({served("h1", sample)}), "h1"), own);
}

TEST(HostsMetrics, OfAHostThatIsDownOnlyThatIsSaid) {
    Sample down;
    down.machine = MachineSoftware::Unreached;
    for (const ServedHost& host : {served("h1", down), ServedHost{"h1", {nullptr, {}}}}) {
        const auto lines = linesOf({host});
        EXPECT_TRUE(contains(lines, "genv_host_up{hostname=\"h1\"} 0"));
        EXPECT_EQ(namesOf(lines, "h1"),
                  (std::set<std::string>{"genv_host_up", "genv_host_failures_total",
                                         "genv_scrape_errors_total"}));
    }
}

TEST(HostsMetrics, WithoutGenvThereAreReadingsAndNothingOfEnvironments) {
    Sample sample = serviceSample();
    sample.isUp = false;
    sample.machine = MachineSoftware::WithoutGenv;
    sample.state->machine.devices.front().device.totalMemoryBytes = 0;
    const auto lines = linesOf({served("h1", sample)});
    EXPECT_TRUE(contains(lines, "genv_is_installed{hostname=\"h1\"} 0"));
    EXPECT_TRUE(contains(lines, "genv_host_up{hostname=\"h1\"} 1"));
    EXPECT_EQ(namesOf(lines, "h1"),
              (std::set<std::string>{"genv_host_up", "genv_is_installed", "genv_host_left_out",
                                     "genv_host_failures_total", "genv_scrape_errors_total",
                                     "genv_scrape_duration_seconds", "genv_device_utilization",
                                     "genv_device_info"}));
}

TEST(HostsMetrics, TheOldGenvHasHoldersAndNoService) {
    Sample sample = serviceSample();
    sample.isUp = false;
    sample.machine = MachineSoftware::WithOldGenv;
    const auto names = namesOf(linesOf({served("h1", sample)}), "h1");
    for (const char* there : {"genv_is_installed", "genv_attached_devices_total",
                              "genv_environment_info", "genv_process_devices_total"})
        EXPECT_TRUE(names.contains(there)) << there;
    for (const char* absent : {"genv_up", "genv_queue_length", "genv_device_health",
                               "genv_device_memory_available_bytes"})
        EXPECT_FALSE(names.contains(absent)) << absent;
}

TEST(HostsMetrics, WhatIsLeftOutIsLeftOutOfHostsToo) {
    const auto names = namesOf(
        linesOf({served("h1", serviceSample())}, {.processes = false, .users = false}), "h1");
    EXPECT_TRUE(names.contains("genv_processes_total"));
    for (const char* absent :
         {"genv_process_devices_total", "genv_user_processes_total", "genv_environment_info"})
        EXPECT_FALSE(names.contains(absent)) << absent;
}

TEST(Readings, ComeToTheDevicesOfTheOldGenvByTheirIndex) {
    std::vector<DeviceState> devices{deviceAt(0), deviceAt(1)};
    devices[1].attachments.push_back({1, "e", {}, {}, {}});
    devices[1].sensors.utilizationPercent.reset();
    DeviceState reading = deviceAt(1);
    reading.device.totalMemoryBytes = 0;
    mergeReadings(devices, {reading, deviceAt(2)});
    ASSERT_EQ(devices.size(), 3U);
    EXPECT_EQ(devices[1].sensors.utilizationPercent, 7U);
    EXPECT_EQ(devices[1].attachments.size(), 1U);
    EXPECT_EQ(devices[1].device.totalMemoryBytes, 1000U);
}

TEST(ForeignState, IsBoundedAndWhatIsLeftOutIsCounted) {
    ServiceState state;
    for (std::uint32_t index = 0; index < maxDevices + 3; ++index)
        state.machine.devices.push_back(deviceAt(index));
    for (std::size_t index = 0; index < maxEnvironments + 5; ++index)
        state.machine.environments.push_back(environmentOf(std::to_string(index), "u"));
    for (std::uint32_t pid = 0; pid < maxProcesses + 7; ++pid)
        state.processes.push_back({pid, 0, std::nullopt, {{0, 1}, {1, 1}, {2, 1}}});
    const std::uint64_t omitted = confine(state);
    EXPECT_EQ(state.machine.devices.size(), maxDevices);
    EXPECT_EQ(state.machine.environments.size(), maxEnvironments);
    EXPECT_EQ(state.processes.size(), maxProcesses);
    std::size_t uses = 0;
    for (const ComputeProcess& process : state.processes)
        uses += process.uses.size();
    EXPECT_EQ(uses, maxUses);
    EXPECT_EQ(omitted, 3 + 5 + 7 + 3 * maxProcesses - maxUses);
}

TEST(ForeignState, HasEachDeviceEnvironmentAndProcessOnce) {
    ServiceState state;
    state.machine.devices = {deviceAt(0), deviceAt(0)};
    const std::string longId(maxLabelLength, 'x');
    state.machine.environments = {environmentOf(longId + "1", "u"),
                                  environmentOf(longId + "2", "u"), environmentOf("y", "u")};
    state.processes = {{1, 0, "y", {{0, 1}, {0, 2}}}, {1, 0, "y", {}}};
    EXPECT_EQ(confine(state), 4U);
    EXPECT_EQ(state.machine.devices.size(), 1U);
    EXPECT_EQ(state.machine.environments.size(), 2U);
    ASSERT_EQ(state.processes.size(), 1U);
    EXPECT_EQ(state.processes[0].uses.size(), 1U);
}

TEST(ForeignState, BreaksNoLineAndNoLabel) {
    Sample sample = serviceSample();
    const std::string nasty = "\"} 1\ngenv_up{hostname=\"h2\"} 1\n\x1b[2J\\";
    ServiceState& state = *sample.state;
    state.machine.environments.front() = environmentOf(nasty, nasty);
    state.machine.environments.front().configuration.name = nasty;
    state.machine.devices.front().device.uuid = nasty;
    state.machine.devices.front().device.model = nasty;
    state.machine.devices.front().health = nasty;
    state.processes.front().environment = nasty;
    confine(state);
    for (const std::string& line : linesOf({served("h1", sample)})) {
        if (!line.starts_with('#') && !line.starts_with("genv_build_info")) {
            EXPECT_NE(line.find("{hostname=\"h1\""), std::string::npos) << line;
        }
        EXPECT_EQ(line.find('\x1b'), std::string::npos) << line;
    }
}

} // namespace

} // namespace genv::monitor
