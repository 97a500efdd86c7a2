// SPDX-License-Identifier: LGPL-2.1-or-later
// Which GPU, and within it which MIG instance, a report (-q, as text or XML) is telling of.
#pragma once

#include "shims/nvidia_smi/correction.hpp"

namespace genv::shims::nvidia_smi {

/// The base of both correctors of reports.
class ReportCorrector : public Corrector {
  public:
    using Corrector::Corrector;

  protected:
    /// The report of a GPU begins; it is named by its PCI address.
    void beginGpu(std::string_view busId);
    /// Its UUID stands there. False where it is not to be seen.
    bool hearUuid(std::string_view uuid);
    void endGpu();
    [[nodiscard]] bool isInGpu() const { return isInGpu_; }

    /// The GPU, as soon as it can be known; null with a note where it cannot.
    const SeenGpu* gpu();

    void beginInstance(std::optional<std::uint64_t> number);
    void endInstance() { instance_.reset(); }
    [[nodiscard]] bool isInInstance() const { return instance_.has_value(); }

    /// What is to stand in place of a number of MiB of the GPU's or instance's memory.
    std::optional<Figure> memoryReplacement(std::string_view what, std::uint64_t printedMib);

  private:
    std::string busId_;
    std::string uuid_;
    bool isInGpu_ = false;
    std::optional<std::uint64_t> instance_;
};

} // namespace genv::shims::nvidia_smi
