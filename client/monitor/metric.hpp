// SPDX-License-Identifier: LGPL-2.1-or-later
// One metric of an exposition, while its samples are collected.
#pragma once

#include <prometheus/metric_family.h>

#include <optional>
#include <utility>
#include <vector>

namespace genv::monitor {

/// A metric that is being filled. Its destructor adds it to the exposition, unless it has no
/// sample.
class Metric {
  public:
    using Labels = std::vector<prometheus::ClientMetric::Label>;

    Metric(std::vector<prometheus::MetricFamily>& all, const char* name, const char* help,
           prometheus::MetricType type = prometheus::MetricType::Gauge)
        : all_(all) {
        family_.name = name;
        family_.help = help;
        family_.type = type;
    }
    Metric(const Metric&) = delete;
    Metric& operator=(const Metric&) = delete;
    ~Metric() {
        if (!family_.metric.empty())
            all_.push_back(std::move(family_));
    }

    void add(Labels labels, double value) {
        prometheus::ClientMetric metric;
        metric.label = std::move(labels);
        if (family_.type == prometheus::MetricType::Counter)
            metric.counter.value = value;
        else
            metric.gauge.value = value;
        family_.metric.push_back(std::move(metric));
    }
    template <typename Value>
    void add(Labels labels, const std::optional<Value>& value, double unit = 1) {
        if (value)
            add(std::move(labels), static_cast<double>(*value) * unit);
    }

  private:
    std::vector<prometheus::MetricFamily>& all_;
    prometheus::MetricFamily family_;
};

} // namespace genv::monitor
