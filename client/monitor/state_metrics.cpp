// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/monitor/state_metrics.hpp"

#include "client/environment_job.hpp"
#include "client/jobs/model/attempt_environment_id.hpp"
#include "client/monitor/metric.hpp"
#include "core/base/text.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace genv::monitor {

namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = Metric::Labels;

double secondsSince(Time then, Time now) {
    return std::max(0.0, std::chrono::duration<double>(now - then).count());
}

template <typename Value>
double sizeOf(const Value& container) {
    return static_cast<double>(container.size());
}

class Collector {
  public:
    Collector(const ServiceState& state, Time now, std::vector<MetricFamily>& all)
        : state_(state), now_(now), all_(all) {
        for (const Environment& environment : state_.machine.environments)
            owners_.emplace(environment.id, environment.user);
        for (const ComputeProcess& process : state_.processes) {
            if (process.environment)
                processesOf_[*process.environment] += 1;
        }
    }

    void readings() const;
    void identities() const;
    void health() const;
    void claims() const;
    void conditions() const;
    void availableMemory() const;
    void totals() const;
    void jobs() const;
    void environments() const;
    void processes() const;
    void users() const;
    void queue() const;
    void parked() const;
    void isolation() const;

  private:
    template <typename Value>
    void eachDevice(const char* name, const char* help, Value value) const {
        Metric metric(all_, name, help);
        for (const DeviceState& device : state_.machine.devices)
            value(metric, index(device), device);
    }
    static Labels index(const DeviceState& device) {
        return {{"index", std::to_string(device.device.index)}};
    }

    const ServiceState& state_;
    Time now_;
    std::vector<MetricFamily>& all_;
    std::map<std::string, std::string> owners_; ///< user names, by environment
    std::map<std::string, double> processesOf_; ///< compute processes, by environment
};

void Collector::readings() const {
    constexpr double wattsPerMilliwatt = 1e-3;
    eachDevice("genv_device_temperature", "Temperature in degrees Celsius",
               [](Metric& metric, Labels labels, const DeviceState& device) {
                   metric.add(std::move(labels), device.sensors.temperatureCelsius);
               });
    eachDevice("genv_device_utilization", "Utilization in percent",
               [](Metric& metric, Labels labels, const DeviceState& device) {
                   metric.add(std::move(labels), device.sensors.utilizationPercent);
               });
    eachDevice("genv_device_memory_used_bytes", "Memory in use",
               [](Metric& metric, Labels labels, const DeviceState& device) {
                   metric.add(std::move(labels), device.usedMemoryBytes);
               });
    eachDevice("genv_device_memory_total_bytes", "Memory in total",
               [](Metric& metric, Labels labels, const DeviceState& device) {
                   const double total = static_cast<double>(device.device.totalMemoryBytes);
                   if (total > 0) // 0: not known
                       metric.add(std::move(labels), total);
               });
    eachDevice("genv_device_power_watts", "Power drawn",
               [](Metric& metric, Labels labels, const DeviceState& device) {
                   metric.add(std::move(labels), device.sensors.powerMilliwatts, wattsPerMilliwatt);
               });
    eachDevice("genv_device_power_limit_watts", "Limit of the power that the driver enforces",
               [](Metric& metric, Labels labels, const DeviceState& device) {
                   metric.add(std::move(labels), device.sensors.powerLimitMilliwatts,
                              wattsPerMilliwatt);
               });
    eachDevice("genv_device_sample_age_seconds", "Time since the driver was asked for the readings",
               [this](Metric& metric, Labels labels, const DeviceState& device) {
                   if (device.sampledAt)
                       metric.add(std::move(labels), secondsSince(*device.sampledAt, now_));
               });
}

void Collector::identities() const {
    eachDevice("genv_device_info", "A device of the machine; always 1",
               [](Metric& metric, Labels labels, const DeviceState& device) {
                   if (device.device.uuid.empty() && device.device.model.empty())
                       return; // for example with genv 1 and without the driver's readings
                   labels.push_back({"uuid", core::printable(device.device.uuid)});
                   labels.push_back({"model", core::printable(device.device.model)});
                   metric.add(std::move(labels), 1);
               });
}

void Collector::health() const {
    eachDevice("genv_device_health", "1 if no fault of the device is known, else 0",
               [](Metric& metric, Labels labels, const DeviceState& device) {
                   metric.add(std::move(labels), device.health == "ok" ? 1 : 0);
               });
    eachDevice(
        "genv_device_health_info",
        "The health of the device: ok, stale, lost or the driver's last error as xid-N; always 1",
        [](Metric& metric, Labels labels, const DeviceState& device) {
            labels.push_back({"health", core::printable(device.health)});
            metric.add(std::move(labels), 1);
        });
}

void Collector::claims() const {
    eachDevice("genv_device_attached",
               "1 if an environment holds the device or a share of it, else 0",
               [](Metric& metric, Labels labels, const DeviceState& device) {
                   metric.add(std::move(labels), device.attachments.empty() ? 0 : 1);
               });
    eachDevice("genv_device_shares", "Environments that hold the device or a share of it",
               [](Metric& metric, Labels labels, const DeviceState& device) {
                   metric.add(std::move(labels), sizeOf(device.attachments));
               });
}

void Collector::conditions() const {
    eachDevice("genv_device_free",
               "1 if no environment holds the device, nothing outside genv uses it, its health is "
               "ok and it is not reserved, else 0",
               [](Metric& metric, Labels labels, const DeviceState& device) {
                   metric.add(std::move(labels), device.isFree ? 1 : 0);
               });
    eachDevice("genv_device_memory_unaccounted_bytes", "Used memory that no process accounts for",
               [](Metric& metric, Labels labels, const DeviceState& device) {
                   metric.add(std::move(labels),
                              static_cast<double>(device.unaccountedMemoryBytes));
               });
}

void Collector::availableMemory() const {
    eachDevice("genv_device_memory_available_bytes", "Memory that no environment holds",
               [](Metric& metric, Labels labels, const DeviceState& device) {
                   if (device.device.totalMemoryBytes > 0)
                       metric.add(std::move(labels),
                                  static_cast<double>(device.availableMemoryBytes));
               });
}

void Collector::totals() const {
    const auto attached =
        std::ranges::count_if(state_.machine.devices, [](const DeviceState& device) {
            return !device.attachments.empty();
        });
    std::set<std::string> users;
    for (const auto& [environment, user] : owners_)
        users.insert(user);
    Metric(all_, "genv_environments_total", "Active environments")
        .add({}, sizeOf(state_.machine.environments));
    Metric(all_, "genv_environments_lingering",
           "Lingering environments: only processes that still use their devices keep them")
        .add({}, static_cast<double>(std::ranges::count_if(
                     state_.machine.environments,
                     [](const Environment& environment) { return environment.lingering; })));
    Metric(all_, "genv_processes_total", "Processes that use a device")
        .add({}, sizeOf(state_.processes));
    Metric(all_, "genv_attached_devices_total", "Devices that an environment holds")
        .add({}, static_cast<double>(attached));
    Metric(all_, "genv_users_total", "Users who have an environment").add({}, sizeOf(users));
}

// The jobs of genvctl submit; those of Slurm have a label of their own.
void Collector::jobs() const {
    std::set<std::uint32_t> devices;
    std::size_t environments = 0;
    for (const Environment& environment : state_.machine.environments) {
        if (!genv::jobs::jobOf(environment.id))
            continue;
        ++environments;
        devices.insert(environment.devices.begin(), environment.devices.end());
    }
    Metric(all_, "genv_environments_of_jobs", "Environments of jobs of genvctl submit")
        .add({}, static_cast<double>(environments));
    Metric(all_, "genv_attached_devices_of_jobs",
           "Devices that environments of jobs of genvctl submit hold, each counted once")
        .add({}, sizeOf(devices));
}

std::string numberText(const std::optional<genv::jobs::JobNumber>& job) {
    return job ? std::to_string(*job) : "";
}

void Collector::environments() const {
    Metric processes(all_, "genv_environment_processes_total",
                     "Processes of the environment that use a device");
    Metric devices(all_, "genv_environment_attached_devices_total",
                   "Devices that the environment holds");
    Metric lingering(all_, "genv_environment_lingering",
                     "1 if only processes that still use its devices keep the environment, else 0");
    for (const Environment& environment : state_.machine.environments) {
        lingering.add({{"eid", environment.id}}, environment.lingering ? 1 : 0);
        const auto found = processesOf_.find(environment.id);
        processes.add({{"eid", environment.id}}, found == processesOf_.end() ? 0 : found->second);
        devices.add({{"eid", environment.id}}, sizeOf(environment.devices));
    }
}

void Collector::processes() const {
    Metric devices(all_, "genv_process_devices_total", "Devices that the process uses");
    Metric memory(all_, "genv_process_used_gpu_memory_bytes",
                  "Memory of the device that the process uses");
    for (const ComputeProcess& process : state_.processes) {
        const Labels labels{{"pid", std::to_string(process.pid)},
                            {"eid", process.environment.value_or("")}};
        devices.add(labels, sizeOf(process.uses));
        for (const DeviceUse& use : process.uses) {
            Labels ofDevice = labels;
            ofDevice.push_back({"device", std::to_string(use.device)});
            memory.add(std::move(ofDevice), use.usedMemoryBytes);
        }
    }
}

void Collector::users() const {
    struct Share {
        double environments = 0;
        double processes = 0;
        std::set<std::uint32_t> devices;
    };
    std::map<std::string, Share> shares;
    Metric info(all_, "genv_environment_info", "An active environment; always 1");
    for (const Environment& environment : state_.machine.environments) {
        Share& share = shares[environment.user];
        share.environments += 1;
        if (const auto found = processesOf_.find(environment.id); found != processesOf_.end())
            share.processes += found->second;
        share.devices.insert(environment.devices.begin(), environment.devices.end());
        info.add({{"eid", environment.id},
                  {"username", core::printable(environment.user)},
                  {"name", core::printable(environment.configuration.name.value_or(""))},
                  {"job", client::slurmJobOf(environment.id).value_or("")},
                  {"genv_job", numberText(genv::jobs::jobOf(environment.id))}},
                 1);
    }
    Metric environments(all_, "genv_user_environments_total", "Active environments of the user");
    Metric processes(all_, "genv_user_processes_total",
                     "Processes of the user's environments that use a device");
    Metric devices(all_, "genv_user_attached_devices_total",
                   "Devices that the user's environments hold, each counted once");
    for (const auto& [user, share] : shares) {
        const Labels labels{{"username", core::printable(user)}};
        environments.add(labels, share.environments);
        processes.add(labels, share.processes);
        devices.add(labels, sizeOf(share.devices));
    }
}

void Collector::queue() const {
    double maxWait = 0;
    std::size_t held = 0;
    for (const WaitingRequest& waiting : state_.queue) {
        const QueueDescription& request = waiting.description;
        if (request.hold)
            ++held;
        else
            maxWait = std::max(maxWait, secondsSince(request.entry.since, now_));
    }
    Metric(all_, "genv_queue_length", "Requests that wait for devices")
        .add({}, static_cast<double>(state_.queue.size() - held));
    Metric(all_, "genv_queue_held_requests",
           "Requests that wait until their user has given back enough to be within a limit")
        .add({}, static_cast<double>(held));
    Metric order(all_, "genv_queue_order", "1, with the order of the queue while requests wait");
    if (!state_.queue.empty())
        order.add({{"order", core::printable(state_.queue.front().description.order)}}, 1);
    Metric(all_, "genv_queue_waiting_seconds",
           "Time that the oldest request that waits for devices has waited")
        .add({}, maxWait);
}

void Collector::parked() const {
    Metric(all_, "genv_environments_parked", "Parked environments")
        .add({}, static_cast<double>(state_.parked.environments));
    Metric(all_, "genv_parked_memory_bytes", "Host memory that parked processes hold")
        .add({}, state_.parked.bytes);
    Metric(all_, "genv_environments_on_loan", "Preemptible environments that are not parked")
        .add({}, static_cast<double>(state_.loans.environments));
    Metric(all_, "genv_devices_on_loan", "Devices that they hold")
        .add({}, static_cast<double>(state_.loans.devices));
}

void Collector::isolation() const {
    const IsolationState& isolation = state_.isolation;
    const bool isInForce = isolation.wanted != "none" && isolation.mode == isolation.wanted &&
                           isolation.trouble.empty();
    Metric(all_, "genv_isolation_active",
           "1 if the mode that Isolation= in genvd.conf configures is in force, else 0")
        .add({{"mode", core::printable(isolation.wanted)}}, isInForce ? 1 : 0);
    Metric refused(all_, "genv_gpu_refused_total",
                   "Opens of the device that the kernel refused, or with Isolation=watch counted, "
                   "since the service started",
                   MetricType::Counter);
    for (const DeviceState& device : state_.machine.devices)
        refused.add(index(device), static_cast<double>(device.refusedOpens));
}

} // namespace

void collectState(std::vector<MetricFamily>& all, const Sample& sample, Time now,
                  const Selection& selection) {
    if (!sample.state)
        return;
    const Collector collector(*sample.state, now, all);
    collector.readings();
    collector.identities();
    if (sample.isUp)
        collector.health();
    if (!sample.isUp && sample.machine != MachineSoftware::WithOldGenv)
        return;
    collector.claims();
    if (sample.isUp) {
        collector.conditions();
        collector.availableMemory();
    }
    collector.totals();
    collector.environments();
    if (sample.isUp) {
        collector.jobs();
        collector.queue();
        collector.parked();
        collector.isolation();
    }
    if (selection.processes)
        collector.processes();
    if (selection.users)
        collector.users();
}

} // namespace genv::monitor
