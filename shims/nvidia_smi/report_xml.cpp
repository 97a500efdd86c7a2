// SPDX-License-Identifier: LGPL-2.1-or-later
// -q -x: one element or tag a line, as every nvidia-smi has printed it. A process and the head of a
// MIG instance are held until it is known whose they are.
#include "shims/nvidia_smi/report_state.hpp"
#include "shims/nvidia_smi/text.hpp"

#include <fmt/format.h>

namespace genv::shims::nvidia_smi {

namespace {

// More than any process' element is; a name that holds no end of it cannot fill the memory.
constexpr std::size_t longestElement = 1U << 20U;

struct Element {
    std::string_view name;  // "/name" for an end tag
    std::string_view value; // of one that ends on its line; within the line
    bool isWhole = false;
    std::string_view attributes;
};

Element read(std::string_view line) {
    const std::string_view text = trimmed(line);
    const std::size_t end = text.find('>');
    if (!startsWith(text, "<") || end == std::string_view::npos)
        return {};
    Element element;
    const std::string_view tag = text.substr(1, end - 1);
    element.name = tag.substr(0, tag.find(' '));
    element.attributes = tag.substr(element.name.size());
    const std::string_view rest = text.substr(end + 1);
    const std::size_t close = rest.rfind("</");
    if (close != std::string_view::npos) {
        element.value = rest.substr(0, close);
        element.isWhole = true;
    }
    return element;
}

std::string_view quotedIn(std::string_view text) {
    const std::size_t begin = text.find('"');
    const std::size_t end = text.rfind('"');
    return begin == end ? std::string_view() : text.substr(begin + 1, end - begin - 1);
}

class XmlCorrector : public ReportCorrector {
  public:
    using ReportCorrector::ReportCorrector;

  private:
    void correct(std::string_view line, std::string& out) override {
        const Element element = read(line);
        if (!process_.empty() || isSkippingProcess_)
            return takeProcess(element, line, out);
        if (!dropUntil_.empty()) {
            if (element.name == dropUntil_)
                dropUntil_ = {};
            return;
        }
        if (element.name == "process_info" || element.name == "accounted_process_info") {
            process_ = line;
            processEnd_ = "/" + std::string(element.name);
            isVisible_.reset();
            return;
        }
        if (takeInstance(element, line, out))
            return;
        out += takeElement(element, line);
    }

    void end(std::string& out) override {
        out += instanceHead_;
        if (!process_.empty())
            note("the report ended within a process, which was left out");
    }

    // Its pid stands before its name, so the first one is its own.
    void takeProcess(const Element& element, std::string_view line, std::string& out) {
        if (!isSkippingProcess_)
            process_ += line;
        if (element.name == "pid" && element.isWhole && !isVisible_) {
            const auto pid = parseNumber(trimmed(element.value));
            isVisible_ = pid && seen().hasProcess(*pid);
        }
        const bool isOver = element.name == processEnd_;
        if (isOver && isVisible_.value_or(false) && !isSkippingProcess_)
            out += process_;
        if (!isOver && process_.size() > longestElement) {
            note("a process with more text than any has was left out");
            isSkippingProcess_ = true;
        }
        if (isOver || isSkippingProcess_)
            process_.clear();
        if (isOver)
            isSkippingProcess_ = false;
    }

    bool takeInstance(const Element& element, std::string_view line, std::string& out) {
        if (element.name == "mig_device") {
            instanceHead_ = line;
            return true;
        }
        if (element.name == "/mig_device")
            endInstance();
        if (instanceHead_.empty())
            return false;
        const auto number = element.name == "index" && element.isWhole
                                ? parseNumber(trimmed(element.value))
                                : std::nullopt;
        const SeenGpu* owner = gpu();
        if (number && owner != nullptr && owner->instance(*number) == nullptr) {
            instanceHead_.clear();
            dropUntil_ = "/mig_device";
            return true;
        }
        out += instanceHead_;
        instanceHead_.clear();
        beginInstance(number);
        return false;
    }

    std::string takeElement(const Element& element, std::string_view line) {
        if (element.name == "gpu" && !element.isWhole) {
            beginGpu(quotedIn(element.attributes));
        } else if (element.name == "/gpu") {
            endGpu();
        } else if (element.name == "attached_gpus" && element.isWhole) {
            return withValue(line, element, std::to_string(seen().gpus().size()));
        } else if (element.name == "uuid" && element.isWhole && isInGpu() && !isInInstance()) {
            if (!hearUuid(trimmed(element.value)))
                noteUnknownLayout("the order of GPUs");
        } else if (element.name == "fb_memory_usage") {
            isInMemory_ = true;
        } else if (element.name == "/fb_memory_usage") {
            isInMemory_ = false;
        } else if (isInMemory_ && element.isWhole) {
            return takeMemory(element, line);
        }
        return std::string(line);
    }

    std::string takeMemory(const Element& element, std::string_view line) {
        const std::vector<Word> parts = words(element.value, 3);
        const auto printed = parts.empty() ? std::nullopt : parseNumber(parts[0].text);
        if (!printed)
            return std::string(line);
        if (parts.size() != 2 || parts[1].text != "MiB") {
            noteUnknownLayout("a unit of memory");
            return std::string(line);
        }
        const auto figure = memoryReplacement(element.name, *printed);
        if (!figure)
            return std::string(line);
        return withValue(line, element, figure->mib ? fmt::format("{} MiB", *figure->mib) : "N/A");
    }

    static std::string withValue(std::string_view line, const Element& element,
                                 std::string_view value) {
        std::string corrected(line);
        corrected.replace(static_cast<std::size_t>(element.value.data() - line.data()),
                          element.value.size(), value);
        return corrected;
    }

    std::string process_; // the element so far
    std::string processEnd_;
    std::optional<bool> isVisible_;
    bool isSkippingProcess_ = false;
    std::string instanceHead_;
    std::string_view dropUntil_;
    bool isInMemory_ = false;
};

} // namespace

std::unique_ptr<Corrector> makeXmlCorrector(Surroundings surroundings) {
    return std::make_unique<XmlCorrector>(std::move(surroundings));
}

} // namespace genv::shims::nvidia_smi
