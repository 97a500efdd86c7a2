// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/terminal/json.hpp"

#include "client/genvctl/terminal/terminal_text.hpp"

#include <algorithm>

namespace genv::ctl {

std::string jsonText(const Json& json, bool pretty) {
    constexpr int indentation = 4;
    const auto dumped = [&](bool asciiOnly) {
        return json.dump(pretty ? indentation : -1, ' ', asciiOnly, Json::error_handler_t::replace);
    };
    // JSON leaves C1 controls and invisible characters unescaped. Line breaks come only from the
    // writer.
    const std::string text = dumped(false);
    std::string oneLine = text;
    std::replace(oneLine.begin(), oneLine.end(), '\n', ' ');
    return (shown(oneLine) == oneLine ? text : dumped(true)) + '\n';
}

Json toJson(const Configuration& configuration) {
    return {{"name", orNull(configuration.name)},
            {"gpus", orNull(configuration.gpus)},
            {"gpu_memory_bytes", orNull(configuration.gpuMemoryBytes)}};
}

Json toJson(Time time) {
    return time.time_since_epoch().count();
}

Json toJson(std::chrono::microseconds span) {
    return std::chrono::duration<double>(span).count();
}

} // namespace genv::ctl
