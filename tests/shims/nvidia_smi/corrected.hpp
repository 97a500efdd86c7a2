// SPDX-License-Identifier: LGPL-2.1-or-later
// The corrected output for a user who has a share of GPU 2.
#pragma once

#include "shims/nvidia_smi/correction.hpp"
#include "shims/nvidia_smi/line_text.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace genv::shims::nvidia_smi {

inline constexpr std::uint64_t mib = 1U << 20U;
inline constexpr std::uint64_t gpuBytes = 16384 * mib;
inline constexpr std::uint64_t fourG = 4'000'000'000;

// GPU 2 of a machine: a share of 4g, process 4711 with 1 GiB.
inline View shareOfGpu2() {
    return {{2, "GPU-c", gpuBytes, fourG, {{4711, 1024 * mib}}}};
}

// The same, and in addition GPU 3, a whole device without a process.
inline View twoGpus() {
    View view = shareOfGpu2();
    view.push_back({3, "GPU-d", gpuBytes, std::nullopt, {}});
    return view;
}

struct Corrected {
    std::string text;
    std::vector<std::string> notes;
};

inline Corrected correctAs(const std::vector<std::string>& commandLine, const std::string& text,
                           const View& view, const std::vector<ListedGpu>& listing = {}) {
    const Seen seen(view, listing);
    Corrected result;
    Arguments arguments = parseArguments(commandLine);
    if (const std::string field = missingField(arguments); !field.empty())
        arguments.addField(field);
    const auto corrector = makeCorrector(
        arguments, {[&] { return &seen; },
                    [](std::string_view busId) {
                        return busId == "00000000:03:00.0"   ? std::optional<std::string>("GPU-c")
                               : busId == "00000000:04:00.0" ? std::optional<std::string>("GPU-d")
                                                             : std::nullopt;
                    },
                    [&](const std::string& note) { result.notes.push_back(note); }});
    LineStream stream(*corrector);
    // In pieces, as a pipe delivers it.
    for (std::size_t at = 0; at < text.size(); at += 7)
        stream.take(std::string_view(text).substr(at, 7), result.text);
    stream.finish(result.text);
    return result;
}

inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

inline std::string without(const std::string& text, const std::string& line) {
    return replaced(text, line, "");
}

} // namespace genv::shims::nvidia_smi
