// SPDX-License-Identifier: LGPL-2.1-or-later
// Corrects the table that nvidia-smi prints without a mode, and -L. The tables of all drivers since
// R390 have the same parts, with different widths:
// * GPUs. The first of three lines (two before R450) starts with the index and contains the PCI
//   address. The second line contains the memory.
// * MIG instances. The first line starts with GPU, GI, CI and number.
// * Processes. A line starts with the GPU, GI and CI (since R450), the PID and the type.
#include "shims/nvidia_smi/correction.hpp"
#include "shims/nvidia_smi/line_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace genv::shims::nvidia_smi {

namespace {

struct ProcessRow {
    std::uint64_t gpu;
    std::uint64_t pid;
};

// Parses "|    0   N/A  N/A      1234      C   python   10MiB |". Before R450, the two ids are
// missing.
std::optional<ProcessRow> parseProcessRow(std::string_view line) {
    static constexpr std::array<std::string_view, 5> types{"C", "G", "C+G", "M+C", "M+C+G"};
    if (!startsWith(line, "|"))
        return std::nullopt;
    const std::vector<Word> row = words(line.substr(1), 5);
    const auto type = std::find_if(row.begin(), row.end(), [](const Word& word) {
        return std::find(types.begin(), types.end(), word.text) != types.end();
    });
    const auto position = type - row.begin();
    if (type == row.end() || (position != 2 && position != 4))
        return std::nullopt;
    const auto gpu = parseNumber(row.front().text);
    const auto pid = parseNumber(row[static_cast<std::size_t>(position) - 1].text);
    if (!gpu || !pid)
        return std::nullopt;
    return ProcessRow{*gpu, *pid};
}

// Returns whether a word ends like a PCI address, such as "65:00.0".
bool isBusId(std::string_view word) {
    const std::size_t length = word.size();
    return length >= 12 && word[length - 2] == '.' && word[length - 5] == ':' &&
           word[length - 8] == ':' && std::isxdigit(static_cast<unsigned char>(word[0])) != 0;
}

// Returns the index at the start of a GPU's first line.
std::optional<std::uint64_t> parseGpuRow(std::string_view line) {
    if (!startsWith(line, "|"))
        return std::nullopt;
    const std::vector<Word> row = words(line.substr(1));
    if (row.empty() ||
        std::none_of(row.begin(), row.end(), [](const Word& word) { return isBusId(word.text); }))
        return std::nullopt;
    return parseNumber(row.front().text);
}

struct InstanceRow {
    std::uint64_t gpu;
    std::uint64_t number;
};

// Parses "|  0    7   0   0  |": GPU, GI, CI, number.
std::optional<InstanceRow> parseInstanceRow(std::string_view line) {
    if (!startsWith(line, "|"))
        return std::nullopt;
    const std::size_t end = line.find('|', 1);
    if (end == std::string_view::npos)
        return std::nullopt;
    const std::vector<Word> cell = words(line.substr(1, end - 1), 5);
    if (cell.size() != 4)
        return std::nullopt;
    std::array<std::uint64_t, 4> numbers{};
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const auto number = parseNumber(cell[i].text);
        if (!number)
            return std::nullopt;
        numbers[i] = *number;
    }
    return InstanceRow{numbers[0], numbers[3]};
}

class TableCorrector : public Corrector {
  public:
    using Corrector::Corrector;

  private:
    enum class Part { Before, Gpus, Instances, Processes };

    void correct(std::string_view line, std::string& out) override {
        const std::string_view body = withoutEnd(line);
        // Check for a process row first, wherever it is, because a process's name may produce lines
        // that look like anything.
        if (const auto row = parseProcessRow(body)) {
            takeProcess(*row, line, out);
            return;
        }
        if (startsWith(body, "+-")) {
            takeBorder(line, out);
            return;
        }
        if (startsWith(body, "|=")) {
            isPastHeader_ = true;
        } else if (const auto part = headingOf(body)) {
            part_ = *part;
            isPastHeader_ = false;
            isDropping_ = false;
            hasRows_ = hasKept_ = false;
            gpu_.reset();
        } else if (isPastHeader_) {
            takeRow(line, body, out);
            return;
        } else if (part_ == Part::Before) {
            hasUnknown_ = hasUnknown_ || body.find("MiB") != std::string_view::npos;
        }
        emit(line, out);
    }

    void end(std::string& out) override {
        flushBorder(out);
        if (hasUnknown_)
            noteUnknownLayout("the table");
    }

    static std::optional<Part> headingOf(std::string_view body) {
        if (startsWith(body, "| NVIDIA-SMI "))
            return Part::Gpus;
        if (startsWith(body, "| MIG devices:"))
            return Part::Instances;
        if (startsWith(body, "| Processes:"))
            return Part::Processes;
        return std::nullopt;
    }

    void takeProcess(const ProcessRow& row, std::string_view line, std::string& out) {
        const SeenGpu* gpu = seen().byIndex(row.gpu);
        hasRows_ = true;
        isDropping_ = gpu == nullptr || row.pid > UINT32_MAX ||
                      gpu->pids.count(static_cast<std::uint32_t>(row.pid)) == 0;
        hasKept_ = hasKept_ || !isDropping_;
        if (!isDropping_)
            emit(line, out);
    }

    void takeRow(std::string_view line, std::string_view body, std::string& out) {
        if (part_ == Part::Gpus) {
            if (const auto index = parseGpuRow(body)) {
                choose(seen().byIndex(*index));
                if (gpu_)
                    memory_ = gpu_->memory;
                isDropping_ = !gpu_;
            }
        } else if (part_ == Part::Instances) {
            if (const auto row = parseInstanceRow(body)) {
                choose(seen().byIndex(row->gpu));
                const SeenInstance* instance = gpu_ ? gpu_->instance(row->number) : nullptr;
                if (instance != nullptr)
                    memory_ = instance->memory;
                isDropping_ = instance == nullptr;
            }
        }
        // Lines between the tables belong to no row.
        if (trimmed(body).empty())
            isDropping_ = false;
        if (isDropping_)
            return;
        if (part_ == Part::Processes) {
            emit(line, out);
            return;
        }
        emit(withMemory(line, body), out);
    }

    void choose(const SeenGpu* gpu) {
        gpu_ = gpu == nullptr ? std::nullopt : std::optional(*gpu);
        memory_.reset();
    }

    // Replaces the memory, which is printed as "10MiB / 16384MiB", by that of the current GPU or
    // instance.
    std::string withMemory(std::string_view line, std::string_view body) {
        std::string corrected(line);
        const std::size_t slash = body.find("MiB / ");
        if (slash == std::string_view::npos) {
            hasUnknown_ = hasUnknown_ || body.find("MiB") != std::string_view::npos;
            return corrected;
        }
        const std::size_t cell = body.rfind('|', slash) + 1;
        const auto used = parseNumber(trimmed(body.substr(cell, slash - cell)));
        const std::size_t second = slash + std::string_view("MiB / ").size();
        const std::size_t end = body.find("MiB", second);
        const auto total = end == std::string_view::npos
                               ? std::nullopt
                               : parseNumber(trimmed(body.substr(second, end - second)));
        if (!used || !total || !gpu_ || !memory_) {
            // The second line of an instance has its BAR1 memory. A GPU has no second memory line.
            hasUnknown_ = hasUnknown_ || part_ != Part::Instances || !gpu_;
            return corrected;
        }
        const Memory memory = *std::exchange(memory_, std::nullopt);
        if (const auto figure = replacement("total", *total, memory, *gpu_))
            putRight(corrected, second, end, std::to_string(figure->mib.value_or(0)));
        if (const auto figure = replacement("used", *used, memory, *gpu_)) {
            const std::size_t unit = slash + std::string_view("MiB").size();
            putRight(corrected, cell, unit,
                     figure->mib ? fmt::format("{}MiB", *figure->mib) : "N/A");
        }
        return corrected;
    }

    // Handles a border, which closes the rows before it. If these rows were hidden, the border is
    // hidden as well, unless it is followed by something other than the next row.
    void takeBorder(std::string_view line, std::string& out) {
        if (!isPastHeader_) {
            emit(line, out);
            return;
        }
        if (part_ == Part::Processes) {
            if (hasRows_ && !hasKept_)
                emit(noProcesses(withoutEnd(line).size()), out);
            hasRows_ = false;
            isDropping_ = false;
            emit(line, out);
            return;
        }
        if (isDropping_)
            heldBorder_ = line;
        else
            emit(line, out);
        isDropping_ = false;
    }

    static std::string noProcesses(std::size_t width) {
        std::string line = "|  No running processes found";
        line.resize(std::max(width, line.size() + 1) - 1, ' ');
        return line + "|\n";
    }

    void emit(std::string_view line, std::string& out) {
        if (!heldBorder_.empty() && (parseGpuRow(line) || parseInstanceRow(line)))
            heldBorder_.clear();
        flushBorder(out);
        lastWasBorder_ = startsWith(line, "+-") || startsWith(line, "|=");
        out += line;
    }

    void flushBorder(std::string& out) {
        if (!heldBorder_.empty() && !lastWasBorder_)
            out += heldBorder_;
        heldBorder_.clear();
    }

    Part part_ = Part::Before;
    std::optional<SeenGpu> gpu_;   // of the current row
    std::optional<Memory> memory_; // of the current row, until it has been used
    std::string heldBorder_;
    bool isPastHeader_ = false;
    bool isDropping_ = false;
    bool hasRows_ = false;
    bool hasKept_ = false;
    bool lastWasBorder_ = false;
    bool hasUnknown_ = false;
};

class ListCorrector : public Corrector {
  public:
    using Corrector::Corrector;

  private:
    void correct(std::string_view line, std::string& out) override {
        const std::string_view uuid = uuidOfListingLine(line);
        if (uuid.empty() || seen().byUuid(uuid) != nullptr || seen().hasInstance(uuid))
            out += line;
    }
};

} // namespace

std::unique_ptr<Corrector> makeTableCorrector(CorrectionCallbacks surroundings) {
    return std::make_unique<TableCorrector>(std::move(surroundings));
}

std::unique_ptr<Corrector> makeListCorrector(CorrectionCallbacks surroundings) {
    return std::make_unique<ListCorrector>(std::move(surroundings));
}

} // namespace genv::shims::nvidia_smi
