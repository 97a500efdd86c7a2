// SPDX-License-Identifier: LGPL-2.1-or-later
// Tracks the current GPU, and the current MIG instance in it, within a report (-q, as text or XML).
#pragma once

#include "shims/nvidia_smi/correction.hpp"

namespace genv::shims::nvidia_smi {

/// The base class of both correctors of reports.
class ReportCorrector : public Corrector {
  public:
    using Corrector::Corrector;

  protected:
    /// Starts the report of a GPU, which is named by its PCI address.
    void beginGpu(std::string_view busId);
    /// Handles the UUID of the current GPU. Returns false if the GPU must be hidden.
    bool handleUuid(std::string_view uuid);
    void endGpu();
    [[nodiscard]] bool isInGpu() const { return isInGpu_; }

    /// Returns the current GPU once it is known, or null, with a note, if it cannot be determined.
    const SeenGpu* gpu();

    void beginInstance(std::optional<std::uint64_t> number);
    void endInstance() { instance_.reset(); }
    [[nodiscard]] bool isInInstance() const { return instance_.has_value(); }

    /// Returns the replacement of a number of MiB for the memory of the current GPU or instance.
    std::optional<Figure> memoryReplacement(std::string_view what, std::uint64_t printedMib);

  private:
    std::string busId_;
    std::string uuid_;
    bool isInGpu_ = false;
    std::optional<std::uint64_t> instance_;
};

} // namespace genv::shims::nvidia_smi
