// SPDX-License-Identifier: LGPL-2.1-or-later
// Corrects -q as text: sections marked by indentation, with lines "Key      : value". Hides
// processes with all of their lines, and MIG instances with their sections. A heading without any
// remaining process shows None, as in nvidia-smi.
#include "shims/nvidia_smi/line_text.hpp"
#include "shims/nvidia_smi/report_state.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace genv::shims::nvidia_smi {

namespace {

constexpr std::size_t sectionIndentation = 4;
constexpr std::size_t entryIndentation = 8;

struct Line {
    std::size_t indentation;
    std::string_view key;   // the whole text if there is no value
    std::string_view value; // a part of the line
    bool hasValue;
    std::size_t colon; // position of the colon before the value

    // Returns whether a section starts or ends here. The lines of a name with line feeds do not
    // count, unless they imitate a section.
    [[nodiscard]] bool isSection() const {
        return key.empty() || startsWith(key, "==") ||
               (indentation == sectionIndentation && key.size() > 1 && key.front() >= 'A' &&
                key.front() <= 'Z');
    }
};

Line read(std::string_view body) {
    const std::size_t indent = indentation(body);
    const std::size_t colon = body.find(" : ");
    if (colon == std::string_view::npos)
        return {indent, trimmed(body), {}, false, 0};
    return {indent, trimmed(body.substr(0, colon)), trimmed(body.substr(colon + 3)), true,
            colon + 1};
}

class TextCorrector : public ReportCorrector {
  public:
    TextCorrector(bool hasDisplay, CorrectionCallbacks surroundings)
        : ReportCorrector(std::move(surroundings)), hasDisplay_(hasDisplay) {}

  private:
    enum class Dropping { Nothing, Process, Instance, Gpu };

    void correct(std::string_view text, std::string& out) override {
        const Line line = read(withoutEnd(text));
        if (line.hasValue)
            colon_ = line.colon;
        if (startsWith(text, "GPU ") && line.key.find(':') != std::string_view::npos)
            return beginBlock(line, text, out);
        if (startsWith(text, "====")) { // the next report of a loop
            dropping_ = Dropping::Nothing;
            endGpu();
        }
        if (dropping_ == Dropping::Gpu)
            return;
        if (takeProcessLine(line, text, out))
            return;
        endDropping(line);
        if (dropping_ != Dropping::Nothing)
            return;
        if (line.isSection())
            flushHeading(out);
        if (takeInstanceLine(line, text, out))
            return;
        out += takeValue(line, text);
    }

    void end(std::string& out) override {
        flushHeading(out);
        flushInstance(out);
    }

    void beginBlock(const Line& line, std::string_view text, std::string& out) {
        flushHeading(out);
        flushInstance(out);
        dropping_ = Dropping::Nothing;
        isInMemory_ = false;
        beginGpu(line.key.substr(4));
        // A selection of sections lacks the UUID that would identify the GPU later.
        if (hasDisplay_ && seen().gpus().size() > 1 && gpu() == nullptr)
            note("cannot match a GPU of the report with an attached GPU");
        out += text;
    }

    // -- processes: instance ids (since R450), then the PID, then more deeply indented lines

    bool takeProcessLine(const Line& line, std::string_view text, std::string& out) {
        if (line.indentation != entryIndentation || !line.hasValue)
            return false;
        if (heading_.has_value() && (lowered(line.key) == "gpu instance id" ||
                                     lowered(line.key) == "compute instance id")) {
            dropping_ = Dropping::Nothing;
            beforePid_ += text;
            return true;
        }
        if (line.key != "Process ID")
            return false;
        const auto pid = parseNumber(line.value);
        const bool isVisible = pid && seen().hasProcess(*pid);
        dropping_ = isVisible ? Dropping::Nothing : Dropping::Process;
        if (isVisible) {
            if (heading_)
                out += *heading_;
            heading_ = "";
            out.append(beforePid_).append(text);
        }
        beforePid_.clear();
        return true;
    }

    void endDropping(const Line& line) {
        const bool isOver = dropping_ == Dropping::Instance
                                ? line.indentation <= sectionIndentation
                                : dropping_ == Dropping::Process && line.isSection();
        if (isOver)
            dropping_ = Dropping::Nothing;
    }

    // Holds back a heading of processes until the first visible process.
    bool holdHeading(const Line& line, std::string_view text) {
        if (line.indentation != sectionIndentation || line.hasValue ||
            (line.key != "Processes" && line.key != "Accounted Processes"))
            return false;
        heading_ = text;
        return true;
    }

    void flushHeading(std::string& out) {
        if (heading_ && !heading_->empty()) {
            const std::string_view body = withoutEnd(*heading_);
            out += fmt::format("{:<{}}: None{}", body, colon_,
                               std::string_view(*heading_).substr(body.size()));
        }
        heading_.reset();
        out += beforePid_;
        beforePid_.clear();
    }

    // -- MIG instances: the line after the heading identifies the instance

    bool takeInstanceLine(const Line& line, std::string_view text, std::string& out) {
        if (line.indentation == sectionIndentation && !line.hasValue && line.key == "MIG Device") {
            endInstance();
            instanceHeading_ = text;
            return true;
        }
        if (instanceHeading_.empty()) {
            if (line.indentation <= sectionIndentation)
                endInstance();
            return false;
        }
        const auto number = line.key == "Index" ? parseNumber(line.value) : std::nullopt;
        const SeenGpu* owner = gpu();
        if (number && owner != nullptr && owner->instance(*number) == nullptr) {
            instanceHeading_.clear();
            dropping_ = Dropping::Instance;
            return true;
        }
        flushInstance(out);
        beginInstance(number);
        return false;
    }

    void flushInstance(std::string& out) {
        out += instanceHeading_;
        instanceHeading_.clear();
    }

    // -- values

    std::string takeValue(const Line& line, std::string_view text) {
        if (holdHeading(line, text))
            return {};
        if (line.indentation == 0 && line.key == "Attached GPUs" && !line.value.empty())
            return withValue(text, line, std::to_string(seen().gpus().size()));
        if (line.indentation == sectionIndentation && line.key == "GPU UUID" && isInGpu() &&
            !handleUuid(line.value)) {
            dropping_ = Dropping::Gpu;
            note("omitted a GPU of the report that is not attached");
            return {};
        }
        if (!line.hasValue) {
            isInMemory_ = line.key == "FB Memory Usage";
            memoryIndentation_ = line.indentation;
        } else if (isInMemory_ && line.indentation > memoryIndentation_) {
            return takeMemory(line, text);
        } else {
            isInMemory_ = false;
        }
        return std::string(text);
    }

    std::string takeMemory(const Line& line, std::string_view text) {
        const std::vector<Word> parts = words(line.value, 3);
        const auto printed = parts.empty() ? std::nullopt : parseNumber(parts[0].text);
        if (!printed)
            return std::string(text);
        if (parts.size() != 2 || parts[1].text != "MiB") {
            noteUnknownLayout("a unit of memory");
            return std::string(text);
        }
        const auto figure = memoryReplacement(lowered(line.key), *printed);
        if (!figure)
            return std::string(text);
        return withValue(text, line, figure->mib ? fmt::format("{} MiB", *figure->mib) : "N/A");
    }

    static std::string withValue(std::string_view text, const Line& line, std::string_view value) {
        std::string corrected(text);
        corrected.replace(static_cast<std::size_t>(line.value.data() - text.data()),
                          line.value.size(), value);
        return corrected;
    }

    bool hasDisplay_;
    Dropping dropping_ = Dropping::Nothing;
    std::optional<std::string> heading_; // empty once printed
    std::string beforePid_;
    std::string instanceHeading_;
    std::size_t colon_ = 0; // position of the colons in this report
    bool isInMemory_ = false;
    std::size_t memoryIndentation_ = 0;
};

} // namespace

std::unique_ptr<Corrector> makeTextCorrector(bool hasDisplay, CorrectionCallbacks surroundings) {
    return std::make_unique<TextCorrector>(hasDisplay, std::move(surroundings));
}

} // namespace genv::shims::nvidia_smi
