// SPDX-License-Identifier: LGPL-2.1-or-later
#include "shims/nvidia_smi/correction.hpp"

#include "shims/nvidia_smi/line_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace genv::shims::nvidia_smi {

namespace {

constexpr std::uint64_t mib = 1U << 20U;
constexpr std::size_t maxLineLength = 1U << 20U;

// Versions of NVML and of nvidia-smi round differently.
bool isSame(std::uint64_t printedMib, std::uint64_t bytes) {
    return printedMib == bytes / mib || (bytes % mib != 0 && printedMib == bytes / mib + 1);
}

std::optional<Figure> cappedAt(std::uint64_t printedMib, std::uint64_t bytes) {
    if (printedMib <= bytes / mib || isSame(printedMib, bytes))
        return std::nullopt;
    return Figure{bytes / mib};
}

} // namespace

void Corrector::take(std::string_view line, std::string& out) {
    seen_ = surroundings_.seen();
    if (seen_ == nullptr) {
        out += line;
        return;
    }
    correct(line, out);
}

void Corrector::takeOverlong(std::string_view piece, std::string& out) {
    note("a line longer than 1 MiB was passed on unchanged");
    out += piece;
}

void Corrector::finish(std::string& out) {
    seen_ = surroundings_.seen();
    if (seen_ != nullptr)
        end(out);
}

std::optional<Figure> Corrector::replacement(std::string_view what, std::uint64_t printedMib,
                                             const Memory& memory, const SeenGpu& gpu) const {
    if (what == "total")
        return memory.isWhole ? std::nullopt : cappedAt(printedMib, memory.totalBytes);
    if (what != "used" && what != "free" && what != "reserved")
        return std::nullopt;
    if (!memory.usedBytes) {
        note(fmt::format("the driver does not report the memory of each process on GPU {}: {}",
                         gpu.index,
                         memory.isWhole ? "used and free memory are those of the whole device"
                                        : "used and free memory are unknown"));
        return memory.isWhole ? std::nullopt : std::optional(Figure{});
    }
    const std::uint64_t used = *memory.usedBytes;
    if (what == "used")
        return isSame(printedMib, used) ? std::nullopt : std::optional(Figure{used / mib});
    return cappedAt(printedMib, memory.totalBytes - std::min(memory.totalBytes, used));
}

void Corrector::noteUnknownLayout(std::string_view what) const {
    note(fmt::format(
        "cannot read {} of this nvidia-smi: its numbers may be those of the whole machine", what));
}

void LineStream::take(std::string_view text, std::string& out) {
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        const std::string_view piece =
            text.substr(0, end == std::string_view::npos ? end : end + 1);
        text.remove_prefix(piece.size());
        const bool isComplete = end != std::string_view::npos;
        if (isOverlong_) {
            corrector_.takeOverlong(piece, out);
            isOverlong_ = !isComplete;
            continue;
        }
        pending_ += piece;
        if (isComplete) {
            corrector_.take(pending_, out);
            pending_.clear();
        } else if (pending_.size() > maxLineLength) {
            corrector_.takeOverlong(pending_, out);
            pending_.clear();
            isOverlong_ = true;
        }
    }
}

void LineStream::finish(std::string& out) {
    if (!pending_.empty())
        corrector_.take(pending_, out);
    pending_.clear();
    corrector_.finish(out);
}

std::unique_ptr<Corrector> makeCorrector(const Arguments& arguments,
                                         CorrectionCallbacks surroundings) {
    switch (arguments.mode) {
    case Mode::Table:
        return makeTableCorrector(std::move(surroundings));
    case Mode::List:
        return makeListCorrector(std::move(surroundings));
    case Mode::QueryText:
        return makeTextCorrector(arguments.hasDisplay, std::move(surroundings));
    case Mode::QueryXml:
        return makeXmlCorrector(std::move(surroundings));
    case Mode::QueryGpu:
        return makeGpuCsvCorrector(arguments, std::move(surroundings));
    case Mode::QueryComputeApps:
    case Mode::QueryAccountedApps:
        return makeProcessCsvCorrector(arguments, std::move(surroundings));
    case Mode::ProcessMonitor:
    case Mode::DeviceMonitor:
        return makeMonitorCorrector(std::move(surroundings));
    case Mode::QueryOther:
    case Mode::Information:
    case Mode::Change:
    case Mode::Subcommand:
    case Mode::Other:
        break;
    }
    return nullptr;
}

} // namespace genv::shims::nvidia_smi
