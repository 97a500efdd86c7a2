// SPDX-License-Identifier: LGPL-2.1-or-later
// The shim of nvidia-smi: a command line, then the output of the real program. The first line has
// the words, the rest is the output. The corrected output does not depend on how the pipe splits
// it.
#include "shims/nvidia_smi/correction.hpp"
#include "shims/nvidia_smi/identity.hpp"
#include "tests/fuzz/target.hpp"

#include <algorithm>
#include <sstream>

namespace genv::fuzz::nvidia_smi {

using namespace shims::nvidia_smi;

constexpr std::uint64_t mib = 1U << 20U;

// A share of GPU 2, GPU 3 whole, and one MIG instance.
const shims::View& view() {
    static const shims::View devices{
        {2, "GPU-c", 16384 * mib, 4'000'000'000, {{4711, 1024 * mib}, {4712, std::nullopt}}},
        {3, "GPU-d", 16384 * mib, std::nullopt, {}},
        {9, "MIG-e", 4864 * mib, std::nullopt, {{4713, 5 * mib}}}};
    return devices;
}

const Seen& sight() {
    static const Seen seen(view(), {{4, "GPU-e", {{0, "MIG-e"}, {1, "MIG-f"}}}});
    return seen;
}

std::optional<std::string> uuidAt(std::string_view busId) {
    if (busId == "00000000:03:00.0")
        return "GPU-c";
    if (busId == "00000000:04:00.0")
        return "GPU-d";
    return std::nullopt;
}

std::string corrected(const Arguments& arguments, std::string_view output, std::size_t piece,
                      std::size_t& notes) {
    const auto corrector = makeCorrector(
        arguments, {[] { return &sight(); }, uuidAt, [&](const std::string&) { ++notes; }});
    if (corrector == nullptr)
        return std::string(output);
    LineStream stream(*corrector);
    std::string text;
    for (std::size_t at = 0; at < output.size(); at += piece)
        stream.take(output.substr(at, piece), text);
    stream.finish(text);
    return text;
}

GENV_FUZZ_TARGET(nvidia_smi) {
    const std::size_t end = std::min(input.find('\n'), input.size());
    const std::string_view output = input.substr(std::min(end + 1, input.size()));
    std::istringstream line(std::string(input.substr(0, end)));
    std::vector<std::string> words;
    for (std::string word; words.size() < 64 && line >> word;)
        words.push_back(word);

    Arguments arguments = parseArguments(words);
    if (arguments.id) {
        const ChosenDevices choice =
            choose(*arguments.id, view(), sight(), [&] { return parseIdentities(output); });
        const std::vector<std::string> all{"GPU-c", "GPU-d", "GPU-e"};
        for (const std::string& uuid : choice.uuids)
            expect(std::ranges::find(all, uuid) != all.end(),
                   "nobody chooses what is not attached");
    } else {
        expect(arguments.forReal({}).size() == words.size(), "no word is lost");
    }
    expect(arguments.forReal({"GPU-c"}).size() <= words.size() + 2, "one option is added");
    if (const std::string field = missingField(arguments); !field.empty())
        arguments.addField(field);
    std::size_t notes = 0;
    std::size_t notesInPieces = 0;
    expect(corrected(arguments, output, output.size() + 1, notes) ==
                   corrected(arguments, output, 7, notesInPieces) &&
               notes == notesInPieces,
           "how output arrives changes nothing of what is shown");
    for (const ListedGpu& gpu : parseListing(output))
        expect(gpu.uuid.find('\n') == std::string::npos, "a UUID is part of a line");
}

} // namespace genv::fuzz::nvidia_smi
