// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/monitor/metrics.hpp"

#include "client/monitor/metric.hpp"
#include "client/monitor/state_metrics.hpp"
#include "core/base/text.hpp"
#include "core/model/reason.hpp"
#include "core/settings/rule_definitions.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <utility>

namespace genv::monitor {

namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

// rate() and increase() would not see the first action of a counter that starts with it. The
// counters of every rule are therefore exported from the beginning.
std::map<std::pair<std::string, std::string>, std::uint64_t>
withZeros(std::map<std::pair<std::string, std::string>, std::uint64_t> actions) {
    for (const core::RuleDefinition& rule : core::ruleDefinitions()) {
        const std::string reason(core::reasonOf(rule.rule).text());
        actions.try_emplace({"terminate", reason}, 0);
        actions.try_emplace({"detach", reason}, 0);
    }
    return actions;
}

void installed(std::vector<MetricFamily>& all, bool isInstalled) {
    Metric(all, "genv_is_installed", "1 if genv is installed on the machine, else 0")
        .add({}, isInstalled ? 1 : 0);
}

void up(std::vector<MetricFamily>& all, bool isUp) {
    Metric(all, "genv_up", "1 if the service answered, else 0").add({}, isUp ? 1 : 0);
}

void version(std::vector<MetricFamily>& all) {
    Metric(all, "genv_build_info", "The exporter's version; always 1")
        .add({{"version", GENV_VERSION}}, 1);
}

void duration(std::vector<MetricFamily>& all, std::chrono::duration<double> took) {
    Metric(all, "genv_scrape_duration_seconds", "Time that the service took for the sample")
        .add({}, took.count());
}

void errors(std::vector<MetricFamily>& all, const Counters& counters) {
    Metric(all, "genv_scrape_errors_total", "Samples that failed although the service was running",
           MetricType::Counter)
        .add({}, static_cast<double>(counters.errors));
}

// Adds the service's counters of enforcement actions. A host without enforcement has none.
void collectActions(std::vector<MetricFamily>& all, const Counters& counters) {
    Metric actions(all, "genv_enforcement_actions_total",
                   "Processes ended (terminate) and devices taken (detach) by rules, leases and "
                   "idle time since the exporter started",
                   MetricType::Counter);
    for (const auto& [key, count] : withZeros(counters.actions))
        actions.add({{"action", key.first}, {"reason", core::printable(key.second)}},
                    static_cast<double>(count));
}

// As with the actions, counters of the usual reasons start at 0.
void collectParkings(std::vector<MetricFamily>& all, const Counters& counters) {
    Metric parks(all, "genv_parks_total",
                 "Attempts to park an environment since the exporter started, by result: parked, "
                 "or failed",
                 MetricType::Counter);
    auto counts = counters.parks;
    for (const core::Reason& reason :
         {core::Reason::user(), core::Reason::admin(), core::Reason::taken()}) {
        for (const char* result : {outcome::parked, outcome::failed})
            counts.try_emplace({result, std::string(reason.text())}, 0);
    }
    for (const auto& [key, count] : counts)
        parks.add({{"reason", core::printable(key.second)}, {"result", key.first}},
                  static_cast<double>(count));
    Metric resumes(all, "genv_resumes_total",
                   "Environments that went on after parking (resumed), and processes that the "
                   "driver did not restore (lost), since the exporter started",
                   MetricType::Counter);
    for (const char* result : {outcome::resumed, outcome::lost}) {
        const auto found = counters.resumes.find(result);
        resumes.add({{"result", result}},
                    found == counters.resumes.end() ? 0 : static_cast<double>(found->second));
    }
    Metric takings(
        all, "genv_takings_total",
        "Requests for which environments on loan were parked since the exporter started, "
        "by result: granted, or failed",
        MetricType::Counter);
    for (const char* result : {outcome::granted, outcome::failed}) {
        const auto found = counters.takings.find(result);
        takings.add({{"result", result}},
                    found == counters.takings.end() ? 0 : static_cast<double>(found->second));
    }
    Metric(all, "genv_taking_seconds_total", "Time that these requests waited for that",
           MetricType::Counter)
        .add({}, counters.takingSeconds);
    Metric(all, "genv_parking_seconds_total", "Time that parking took", MetricType::Counter)
        .add({}, counters.parkingSeconds);
    Metric(all, "genv_resuming_seconds_total",
           "Time that resuming took, from the grant of the devices", MetricType::Counter)
        .add({}, counters.resumingSeconds);
}

void collectPresence(std::vector<MetricFamily>& all, const Sample* sample) {
    const MachineSoftware machine =
        sample != nullptr ? sample->machine : MachineSoftware::Unreached;
    Metric(all, "genv_host_up", "1 if the host answered, else 0")
        .add({}, machine == MachineSoftware::Unreached ? 0 : 1);
    if (machine != MachineSoftware::Unreached)
        installed(all, machine != MachineSoftware::WithoutGenv);
    if (machine == MachineSoftware::WithService)
        up(all, sample->isUp);
}

void collectHostErrors(std::vector<MetricFamily>& all, const Served& served) {
    errors(all, served.counters);
    Metric failures(all, "genv_host_failures_total",
                    "Failed attempts to read the host since the exporter started",
                    MetricType::Counter);
    for (const char* reason : failureReasons) {
        const auto found = served.counters.failures.find(reason);
        const std::uint64_t count = found == served.counters.failures.end() ? 0 : found->second;
        failures.add({{"reason", reason}}, static_cast<double>(count));
    }
    if (!served.sample || served.sample->machine == MachineSoftware::Unreached)
        return;
    duration(all, served.sample->took);
    Metric(all, "genv_host_left_out",
           "Devices, environments and processes of the host above the maximum of one host")
        .add({}, static_cast<double>(served.sample->omitted));
}

std::vector<MetricFamily> collectHost(const Served& served, Time now, const Selection& selection) {
    std::vector<MetricFamily> all;
    collectPresence(all, served.sample.get());
    collectHostErrors(all, served);
    const bool hasService = served.sample && served.sample->machine == MachineSoftware::WithService;
    if (hasService || !served.counters.actions.empty())
        collectActions(all, served.counters);
    if (hasService || !served.counters.parks.empty() || !served.counters.resumes.empty() ||
        !served.counters.takings.empty())
        collectParkings(all, served.counters);
    if (served.sample)
        collectState(all, *served.sample, now, selection);
    return all;
}

} // namespace

std::vector<MetricFamily> collectMetrics(const Served& served,
                                         std::chrono::duration<double> timeout, Time now,
                                         const Selection& selection) {
    std::vector<MetricFamily> all;
    installed(all, true);
    up(all, served.sample && served.sample->isUp);
    version(all);
    duration(all, served.sample ? served.sample->took : timeout);
    errors(all, served.counters);
    collectActions(all, served.counters);
    collectParkings(all, served.counters);
    if (served.sample)
        collectState(all, *served.sample, now, selection);
    return all;
}

std::vector<MetricFamily> collectMetrics(const std::vector<ServedHost>& hosts, Time now,
                                         const Selection& selection) {
    std::vector<MetricFamily> all;
    version(all);
    std::map<std::string, std::size_t> places; // of each family in `all`
    for (const ServedHost& host : hosts) {
        for (MetricFamily& family : collectHost(host.served, now, selection)) {
            for (ClientMetric& metric : family.metric)
                metric.label.insert(metric.label.begin(), {"hostname", host.hostname});
            const auto [place, isNew] = places.try_emplace(family.name, all.size());
            if (isNew)
                all.push_back(std::move(family));
            else
                std::ranges::move(family.metric, std::back_inserter(all[place->second].metric));
        }
    }
    return all;
}

} // namespace genv::monitor
