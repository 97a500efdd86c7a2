// SPDX-License-Identifier: LGPL-2.1-or-later
// Corrects pmon and dmon. Each sample has one line for each GPU or process, under a header that
// starts with # and names the columns. If only other users' processes run on a GPU, it is shown as
// idle, once for each sample, so that the user sees that the program continues.
#include "shims/nvidia_smi/correction.hpp"
#include "shims/nvidia_smi/line_text.hpp"

#include <algorithm>
#include <map>

namespace genv::shims::nvidia_smi {

namespace {

class MonitorCorrector : public Corrector {
  public:
    using Corrector::Corrector;

  private:
    void correct(std::string_view line, std::string& out) override {
        const std::string_view body = withoutEnd(line);
        if (startsWith(body, "#")) {
            readHeader(body);
            out += line;
            return;
        }
        const std::vector<Word> row = words(body);
        const auto index =
            // cppcheck-suppress containerOutOfBounds ; it is compared with the size first
            gpuColumn_ < row.size() ? parseNumber(row[gpuColumn_].text) : std::nullopt;
        if (!hasHeader_ || !index) {
            if (wasHidden_) // a further line of a name
                return;
            if (!row.empty())
                noteUnknownLayout("the output");
            out += line;
            return;
        }
        const SeenGpu* gpu = seen().byIndex(*index);
        wasHidden_ = gpu == nullptr;
        if (gpu != nullptr)
            out += takeRow(std::string(line), row, *gpu);
    }

    // Parses the first of the two header lines. The second one has the units and starts with "#
    // Idx".
    void readHeader(std::string_view body) {
        const std::vector<Word> columns = words(body.substr(1));
        const auto find = [&](std::string_view name) {
            return static_cast<std::size_t>(
                std::find_if(columns.begin(), columns.end(),
                             [&](const Word& column) { return column.text == name; }) -
                columns.begin());
        };
        if (find("gpu") == columns.size())
            return;
        hasHeader_ = true;
        columns_ = columns.size();
        gpuColumn_ = find("gpu");
        pidColumn_ = find("pid");
        memoryColumn_ = pidColumn_ == columns_ ? find("fb") : columns_;
    }

    std::string takeRow(std::string line, const std::vector<Word>& row, const SeenGpu& gpu) {
        if (memoryColumn_ < columns_ && memoryColumn_ < row.size()) {
            const Word& cell = row[memoryColumn_];
            const auto printed = parseNumber(cell.text);
            const auto figure =
                printed ? replacement("used", *printed, gpu.memory, gpu) : std::nullopt;
            if (figure)
                putRight(line, row[memoryColumn_ - 1].end() + 1, cell.end(),
                         figure->mib ? std::to_string(*figure->mib) : "-");
            return line;
        }
        if (pidColumn_ >= row.size())
            return line;
        const auto pid = parseNumber(row[pidColumn_].text);
        if (!pid || (*pid <= UINT32_MAX && gpu.pids.count(static_cast<std::uint32_t>(*pid)) > 0))
            return line;
        wasHidden_ = true;
        return gpu.pids.empty() && isNextSample(gpu.index, *pid) ? idleRow(line, row)
                                                                 : std::string();
    }

    // Returns whether a hidden row of a GPU starts a new sample. This is true for the first hidden
    // row, and whenever a PID occurs again.
    bool isNextSample(std::uint32_t gpu, std::uint64_t pid) {
        std::set<std::uint64_t>& sample = hidden_[gpu];
        const bool isNew = sample.insert(pid).second;
        if (isNew && sample.size() > 1)
            return false;
        sample = {pid};
        return true;
    }

    // Returns the row with "-" in place of the PID and of all columns after it. The last column is
    // left-aligned.
    [[nodiscard]] std::string idleRow(const std::string& line, const std::vector<Word>& row) const {
        const std::string_view body = withoutEnd(line);
        std::string blank(body.size(), ' ');
        blank.replace(0, row[pidColumn_].begin, body.substr(0, row[pidColumn_].begin));
        for (std::size_t i = pidColumn_; i < row.size() && i < columns_; ++i)
            blank[i + 1 < columns_ ? row[i].end() - 1 : row[i].begin] = '-';
        return blank + line.substr(body.size());
    }

    bool hasHeader_ = false;
    bool wasHidden_ = false; // the last row was hidden
    std::size_t columns_ = 0;
    std::size_t gpuColumn_ = 0;
    std::size_t pidColumn_ = 0;
    std::size_t memoryColumn_ = 0;
    std::map<std::uint32_t, std::set<std::uint64_t>> hidden_;
};

} // namespace

std::unique_ptr<Corrector> makeMonitorCorrector(CorrectionCallbacks surroundings) {
    return std::make_unique<MonitorCorrector>(std::move(surroundings));
}

} // namespace genv::shims::nvidia_smi
