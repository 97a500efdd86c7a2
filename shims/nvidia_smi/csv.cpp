// SPDX-License-Identifier: LGPL-2.1-or-later
// Corrects CSV queries. The command line names the fields, so the rows can be parsed without a
// header. If the user's fields do not identify the owner of a row, the shim requests one more field
// and removes it from the output.
#include "shims/nvidia_smi/correction.hpp"
#include "shims/nvidia_smi/line_text.hpp"

#include <algorithm>

namespace genv::shims::nvidia_smi {

namespace {

constexpr std::string_view separator = ", ";

bool isName(std::string_view field) {
    return field == "process_name" || field == "name";
}

class CsvCorrector : public Corrector {
  public:
    CsvCorrector(const Arguments& arguments, CorrectionCallbacks surroundings)
        : Corrector(std::move(surroundings)), fields_(arguments.fields),
          hasAdded_(arguments.addedField), awaitsHeader_(!arguments.noHeader) {}

  protected:
    using Cells = std::vector<std::string>;

    [[nodiscard]] const std::vector<std::string>& fields() const { return fields_; }
    [[nodiscard]] static const std::string*
    cell(const Cells& cells, const std::vector<std::string>& fields, std::string_view name) {
        const auto found = std::find(fields.begin(), fields.end(), name);
        return found == fields.end() ? nullptr
                                     : &cells[static_cast<std::size_t>(found - fields.begin())];
    }

    /// Changes a row. Returns false if the row must be hidden.
    virtual bool correctRow(Cells& cells) = 0;

  private:
    void correct(std::string_view line, std::string& out) final {
        const std::string_view body = withoutEnd(line);
        auto cells = splitRow(body);
        if (!cells) { // an error message, or a further line of a name
            if (!wasDropped_)
                out += line;
            return;
        }
        if (awaitsHeader_) {
            awaitsHeader_ = false;
            wasDropped_ = false;
        } else {
            wasDropped_ = !correctRow(*cells);
            if (wasDropped_)
                return;
        }
        if (hasAdded_)
            cells->pop_back();
        for (std::size_t i = 0; i < cells->size(); ++i)
            out.append(i == 0 ? "" : separator).append((*cells)[i]);
        out += line.substr(body.size());
    }

    // A name may contain separators, so the cells around it are counted from both ends.
    [[nodiscard]] std::optional<Cells> splitRow(std::string_view body) const {
        const std::vector<std::string_view> parts = split(body, separator);
        if (parts.size() < fields_.size())
            return std::nullopt;
        const std::size_t surplus = parts.size() - fields_.size();
        const auto name = std::find_if(fields_.begin(), fields_.end(),
                                       [](const std::string& field) { return isName(field); });
        if (surplus > 0 && name == fields_.end())
            return std::nullopt;
        const auto wide = static_cast<std::size_t>(name - fields_.begin());
        Cells cells;
        std::size_t part = 0;
        for (std::size_t i = 0; i < fields_.size(); ++i) {
            cells.emplace_back(parts[part++]);
            for (std::size_t more = 0; i == wide && more < surplus; ++more)
                cells.back().append(separator).append(parts[part++]);
        }
        return cells;
    }

    std::vector<std::string> fields_;
    bool hasAdded_;
    bool awaitsHeader_;
    bool wasDropped_ = false;
};

// --query-gpu
class GpuCsvCorrector : public CsvCorrector {
  public:
    using CsvCorrector::CsvCorrector;

  private:
    bool correctRow(Cells& cells) override {
        const SeenGpu* gpu = gpuOf(cells);
        if (gpu == nullptr)
            return false;
        for (std::size_t i = 0; i < cells.size(); ++i) {
            if (fields()[i] == "count")
                cells[i] = std::to_string(seen().gpus().size());
            else if (startsWith(fields()[i], "memory."))
                correctMemory(cells[i], std::string_view(fields()[i]).substr(7), *gpu);
        }
        return true;
    }

    [[nodiscard]] const SeenGpu* gpuOf(const Cells& cells) const {
        for (const std::string_view name : {"uuid", "gpu_uuid"}) {
            if (const std::string* uuid = cell(cells, fields(), name))
                return seen().byUuid(trimmed(*uuid));
        }
        const std::string* index = cell(cells, fields(), "index");
        const auto number = index == nullptr ? std::nullopt : parseNumber(trimmed(*index));
        return number ? seen().byIndex(*number) : nullptr;
    }

    // Corrects "10 MiB" or "10". Leaves "[N/A]" unchanged.
    void correctMemory(std::string& cell, std::string_view what, const SeenGpu& gpu) const {
        const std::vector<Word> parts = words(cell, 3);
        const auto printed = parts.empty() ? std::nullopt : parseNumber(parts[0].text);
        if (!printed)
            return;
        if (parts.size() > 1 && parts[1].text != "MiB") {
            noteUnknownLayout("a unit of memory");
            return;
        }
        const auto figure = replacement(what, *printed, gpu.memory, gpu);
        if (figure && !figure->mib)
            cell = "[N/A]";
        else if (figure)
            cell.replace(parts[0].begin, parts[0].text.size(), std::to_string(*figure->mib));
    }
};

// --query-compute-apps and --query-accounted-apps
class ProcessCsvCorrector : public CsvCorrector {
  public:
    using CsvCorrector::CsvCorrector;

  private:
    bool correctRow(Cells& cells) override {
        const std::string* cellOfPid = cell(cells, fields(), "pid");
        const auto pid = cellOfPid == nullptr ? std::nullopt : parseNumber(trimmed(*cellOfPid));
        return pid && seen().hasProcess(*pid);
    }
};

} // namespace

std::string missingField(const Arguments& arguments) {
    const auto has = [&](std::string_view name) { return arguments.hasField(name); };
    const bool isOfProcesses =
        arguments.mode == Mode::QueryComputeApps || arguments.mode == Mode::QueryAccountedApps;
    if (isOfProcesses && !has("pid"))
        return "pid";
    if (arguments.mode == Mode::QueryGpu && !has("uuid") && !has("gpu_uuid") && !has("index"))
        return "uuid";
    return {};
}

std::unique_ptr<Corrector> makeGpuCsvCorrector(const Arguments& arguments,
                                               CorrectionCallbacks surroundings) {
    return std::make_unique<GpuCsvCorrector>(arguments, std::move(surroundings));
}

std::unique_ptr<Corrector> makeProcessCsvCorrector(const Arguments& arguments,
                                                   CorrectionCallbacks surroundings) {
    return std::make_unique<ProcessCsvCorrector>(arguments, std::move(surroundings));
}

} // namespace genv::shims::nvidia_smi
