// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/cluster/gres.hpp"

#include "client/genvctl/terminal/terminal_text.hpp"

#include <algorithm>

namespace genv::ctl::cluster {

namespace {

// More GPUs than any node has. Limits the memory allocated for a count from outside.
constexpr std::uint32_t maxGpus = 4096;

/// One resource in a list: "gpu:rtx:2(IDX:0-1)".
struct GresEntry {
    std::string_view name;
    std::string_view type; ///< may be empty
    std::uint32_t count = 0;
    std::string_view detail; ///< text in the parentheses
};

GresEntry readEntry(std::string_view text) {
    GresEntry entry;
    if (const std::size_t open = text.find('('); open != std::string_view::npos) {
        entry.detail = text.substr(open + 1);
        entry.detail = entry.detail.substr(0, entry.detail.find(')'));
        text = text.substr(0, open);
    }
    const std::size_t first = text.find_first_of(":=");
    entry.name = text.substr(0, first);
    entry.count = 1;
    if (first == std::string_view::npos)
        return entry;
    const std::size_t last = text.find_last_of(":=");
    const auto count = parseNumber(text.substr(last + 1));
    entry.count = count.value_or(1);
    const std::size_t end = count ? last : text.size();
    if (end > first)
        entry.type = text.substr(first + 1, end - first - 1);
    return entry;
}

bool isSharing(std::string_view name) {
    return name == "shard" || name == "mps";
}

// Parses "0-1,3". Returns nothing for any other text, such as "N/A".
std::vector<std::uint32_t> readIndices(std::string_view text) {
    std::vector<std::uint32_t> indices;
    for (const std::string_view part : splitGres(text)) {
        const std::size_t dash = part.find('-');
        const auto first = parseNumber(part.substr(0, dash));
        const auto last =
            dash == std::string_view::npos ? first : parseNumber(part.substr(dash + 1));
        if (!first || !last || *last >= maxGpus)
            return {};
        for (std::uint32_t i = *first; i <= *last; ++i)
            indices.push_back(i);
    }
    return indices;
}

// Parses "0/4,3/4", which has one part for each GPU of the node.
void addParts(const GresEntry& entry, std::vector<HeldGres>& held) {
    std::uint32_t index = 0;
    for (const std::string_view part : splitGres(entry.detail)) {
        const auto used = parseNumber(part.substr(0, part.find('/')));
        if (used.value_or(0) > 0)
            held.push_back({index, true, *used});
        ++index;
    }
}

void addHeld(const GresEntry& entry, std::vector<HeldGres>& held) {
    constexpr std::string_view mark = "IDX:";
    if (entry.count == 0)
        return;
    const bool shares = isSharing(entry.name);
    if (shares && !entry.detail.starts_with(mark) && entry.detail.find('/') != entry.detail.npos) {
        addParts(entry, held);
        return;
    }
    std::vector<std::uint32_t> indices;
    if (entry.detail.starts_with(mark))
        indices = readIndices(entry.detail.substr(mark.size()));
    // If there are several GPUs, Slurm does not report how many shards each of them has.
    std::optional<std::uint32_t> shards;
    if (shares && indices.size() < 2)
        shards = entry.count;
    for (const std::uint32_t index : indices)
        held.push_back({index, shares, shards});
    if (indices.empty())
        held.insert(held.end(), shares ? 1 : std::min(entry.count, maxGpus),
                    {std::nullopt, shares, shards});
}

} // namespace

std::vector<std::string_view> splitGres(std::string_view list) {
    std::vector<std::string_view> parts;
    std::size_t begin = 0;
    int depth = 0;
    for (std::size_t i = 0; i <= list.size(); ++i) {
        const char c = i < list.size() ? list[i] : ',';
        depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
        if (c != ',' || (depth > 0 && i < list.size()))
            continue;
        if (i > begin)
            parts.push_back(list.substr(begin, i - begin));
        begin = i + 1;
    }
    return parts;
}

NodeGres readNodeGres(std::string_view text) {
    NodeGres gres;
    for (const std::string_view part : splitGres(text)) {
        const GresEntry entry = readEntry(part);
        if (entry.name == "gpu")
            gres.models.insert(gres.models.end(), std::min(entry.count, maxGpus),
                               std::string(entry.type));
        else if (entry.name == "shard")
            gres.shards += entry.count;
    }
    return gres;
}

std::vector<HeldGres> readHeldGres(std::string_view text) {
    std::vector<HeldGres> held;
    for (const std::string_view part : splitGres(text)) {
        const GresEntry entry = readEntry(part);
        if (entry.name == "gpu" || isSharing(entry.name))
            addHeld(entry, held);
    }
    return held;
}

WantedGres readWantedGres(std::string_view text) {
    WantedGres wanted;
    for (std::string_view part : splitGres(text)) {
        if (!part.starts_with("gres:") && !part.starts_with("gres/"))
            continue;
        part.remove_prefix(5);
        const GresEntry entry = readEntry(part);
        if (entry.name == "gpu")
            wanted.gpus += entry.count;
        else if (isSharing(entry.name))
            wanted.shards += entry.count;
    }
    return wanted;
}

} // namespace genv::ctl::cluster
