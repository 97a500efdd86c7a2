// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/monitor/config_files.hpp"

#include "client/monitor/folder.hpp"
#include "client/monitor/templates.hpp"
#include "core/base/text.hpp"

#include <fmt/format.h>

#include <map>
#include <stdexcept>
#include <string_view>

namespace genv::monitor {

namespace {

using Values = std::map<std::string, std::string, std::less<>>;

// Replaces each @NAME@ that has a value.
std::string filled(std::string_view text, const Values& values) {
    std::string result;
    while (!text.empty()) {
        const std::size_t begin = text.find('@');
        result += text.substr(0, begin);
        if (begin == std::string_view::npos)
            break;
        text.remove_prefix(begin + 1);
        const auto found = values.find(text.substr(0, text.find('@')));
        if (found == values.end()) {
            result += '@';
            continue;
        }
        result += found->second;
        text.remove_prefix(found->first.size() + 1);
    }
    return result;
}

// Grafana also replaces variables in the YAML and INI files that contain the path.
void requirePlain(const std::filesystem::path& folder) {
    std::string_view rest = folder.native();
    while (!rest.empty()) {
        const auto character = core::takeCharacter(rest);
        if (!character || !core::isPrintable(*character) ||
            std::u32string_view(U"\"'`\\$%;#").find(*character) != std::u32string_view::npos)
            throw std::runtime_error(
                "invalid --config-dir: the files of Prometheus and Grafana cannot contain it; "
                "expected a path without quotes, $ % ; # \\ and control characters");
    }
}

} // namespace

void writeConfigFiles(const std::filesystem::path& folder, const std::string& target,
                      std::chrono::seconds interval) {
    requirePlain(folder);
    const Values values{{"FOLDER", folder.native()},
                        {"TARGET", target},
                        {"INTERVAL", std::to_string(interval.count())}};
    const Folder top(folder);

    const Folder prometheus = top.below("prometheus");
    prometheus.write("genv.rules.yml", prometheusRules);
    prometheus.write("prometheus.yml", filled(prometheusConfig, values));

    const Folder grafana = top.below("grafana");
    grafana.write("grafana.ini", filled(grafanaConfig, values));
    grafana.below("dashboards").write("genv-overview.json", grafanaDashboard);
    const Folder provisioning = grafana.below("provisioning");
    provisioning.below("datasources").write("genv.yml", filled(grafanaDatasource, values));
    provisioning.below("dashboards").write("genv.yml", filled(grafanaProvider, values));
}

} // namespace genv::monitor
