// SPDX-License-Identifier: LGPL-2.1-or-later
// Corrects -q -x: one document or, with -l, several in sequence. A process and the beginning of a
// MIG instance are held back until their owner is known. Malformed input ends the output, because
// names of processes could make it appear as anything.
#include "shims/nvidia_smi/line_text.hpp"
#include "shims/nvidia_smi/report_state.hpp"
#include "shims/nvidia_smi/xml_reader.hpp"

#include <fmt/format.h>

#include <utility>

namespace genv::shims::nvidia_smi {

namespace {

// Larger than the element of any process. It prevents a name without a closing tag from filling the
// memory.
constexpr std::size_t maxElementSize = 1U << 20U;

class XmlCorrector : public ReportCorrector {
  public:
    using ReportCorrector::ReportCorrector;

  private:
    // An element of which it is not yet known whether it is visible.
    struct Undecided {
        std::size_t begin; // start of its indentation in held_
        std::size_t depth;
        bool isProcess;
    };

    void correct(std::string_view line, std::string& out) override {
        if (isCutOff_)
            return;
        // Empty lines between documents, and messages in place of a document.
        if (!reader_.isInDocument() && line.find('<') == std::string_view::npos) {
            out += line;
            return;
        }
        for (const XmlEvent& event : reader_.read(line))
            take(event);
        if (!reader_.failure().empty())
            return cutOff(reader_.failure());
        if (undecided_ && held_.size() > maxElementSize) {
            note(fmt::format("omitted a {} with too much text",
                             undecided_->isProcess ? "process" : "MIG instance"));
            leaveOut();
        }
        if (!undecided_ && (!valueBegin_ || held_.size() > maxElementSize)) {
            valueBegin_.reset();
            out += std::exchange(held_, {});
        }
    }

    void takeOverlong(std::string_view /*piece*/, std::string& /*out*/) override {
        cutOff("a line is longer than 1 MiB");
    }

    void end(std::string& /*out*/) override {
        if (reader_.isInDocument())
            cutOff("unexpected end");
    }

    void cutOff(std::string_view reason) {
        if (!std::exchange(isCutOff_, true))
            note(fmt::format("nvidia-smi's report is not well-formed XML ({}): omitted the rest",
                             reason));
        held_.clear();
    }

    void take(const XmlEvent& event) {
        const bool followsHidden = std::exchange(isLineHidden_, false);
        if (event.kind == XmlEvent::Kind::Text) {
            if (hiddenDepth_ == 0 && !(followsHidden && withoutEnd(event.text).empty()))
                held_ += event.text;
        } else if (event.kind == XmlEvent::Kind::Start) {
            ++depth_;
            if (hiddenDepth_ == 0)
                takeStart(event);
        } else {
            if (hiddenDepth_ == 0)
                takeEnd(event);
            if (hiddenDepth_ == depth_) {
                hiddenDepth_ = 0;
                isLineHidden_ = held_.empty() || held_.back() == '\n';
            }
            --depth_;
        }
    }

    void takeStart(const XmlEvent& event) {
        if (!undecided_ || !undecided_->isProcess)
            beginElement(event);
        held_ += event.text;
        valueBegin_ = held_.size();
    }

    void beginElement(const XmlEvent& event) {
        if (undecided_ && event.name != "index")
            keepInstance(std::nullopt);
        const bool isProcess =
            event.name == "process_info" || event.name == "accounted_process_info";
        if (isProcess || event.name == "mig_device") {
            undecided_ = {held_.find_last_not_of(" \t") + 1, depth_, isProcess};
            isVisible_.reset();
        } else if (event.name == "gpu" && !event.id.empty()) {
            beginGpu(event.id);
        } else if (event.name == "fb_memory_usage") {
            isInMemory_ = true;
        }
    }

    void takeEnd(const XmlEvent& event) {
        const std::string value =
            valueBegin_ ? std::string(trimmed(std::string_view(held_).substr(*valueBegin_))) : "";
        if (undecided_ && undecided_->isProcess)
            takePartOfProcess(event.name, value);
        else if (undecided_)
            takeInstance(parseNumber(value)); // its index has ended, or the instance has none
        else
            takeElement(event.name, value);
        if (event.name == "mig_device")
            endInstance();
        valueBegin_.reset();
        if (hiddenDepth_ == 0)
            held_ += event.text;
    }

    // A name can make one process appear as several, so all of their PIDs must belong to the
    // environment.
    void takePartOfProcess(std::string_view name, std::string_view value) {
        if (name == "pid") {
            const auto pid = parseNumber(value);
            isVisible_ = isVisible_.value_or(true) && pid && seen().hasProcess(*pid);
        }
        if (depth_ != undecided_->depth)
            return;
        if (isVisible_.value_or(false))
            undecided_.reset();
        else
            leaveOut();
    }

    void takeInstance(std::optional<std::uint64_t> number) {
        const SeenGpu* owner = gpu();
        if (number && owner != nullptr && owner->instance(*number) == nullptr)
            leaveOut();
        else
            keepInstance(number);
    }

    void keepInstance(std::optional<std::uint64_t> number) {
        undecided_.reset();
        beginInstance(number);
    }

    // Hides the undecided element, including the part that has not been read yet.
    void leaveOut() {
        held_.erase(undecided_->begin);
        hiddenDepth_ = undecided_->depth;
        undecided_.reset();
        valueBegin_.reset();
    }

    void takeElement(std::string_view name, std::string_view value) {
        if (name == "fb_memory_usage") {
            isInMemory_ = false;
        } else if (name == "gpu" && !valueBegin_) {
            endGpu();
        } else if (!valueBegin_) {
            return;
        } else if (name == "attached_gpus") {
            replaceValue(std::to_string(seen().gpus().size()));
        } else if (name == "uuid" && isInGpu() && !isInInstance()) {
            if (!handleUuid(value))
                noteUnknownLayout("the order of GPUs");
        } else if (isInMemory_) {
            takeMemory(name, value);
        }
    }

    void takeMemory(std::string_view name, std::string_view value) {
        const std::vector<Word> parts = words(value, 3);
        const auto printed = parts.empty() ? std::nullopt : parseNumber(parts[0].text);
        if (!printed)
            return;
        if (parts.size() != 2 || parts[1].text != "MiB")
            return noteUnknownLayout("a unit of memory");
        if (const auto figure = memoryReplacement(name, *printed))
            replaceValue(figure->mib ? fmt::format("{} MiB", *figure->mib) : "N/A");
    }

    void replaceValue(std::string_view value) { held_.replace(*valueBegin_, held_.npos, value); }

    XmlReader reader_;
    bool isCutOff_ = false;
    std::size_t depth_ = 0;
    std::string held_;                      // read, but neither shown nor hidden yet
    std::optional<std::size_t> valueBegin_; // in held_, until an element starts or ends in it
    std::optional<Undecided> undecided_;
    std::optional<bool> isVisible_; // whether the process is visible, from its PIDs so far
    std::size_t hiddenDepth_ = 0;   // depth of the hidden element
    bool isLineHidden_ = false;     // the rest of its line follows
    bool isInMemory_ = false;
};

} // namespace

std::unique_ptr<Corrector> makeXmlCorrector(CorrectionCallbacks surroundings) {
    return std::make_unique<XmlCorrector>(std::move(surroundings));
}

} // namespace genv::shims::nvidia_smi
