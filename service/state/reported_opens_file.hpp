// SPDX-License-Identifier: LGPL-2.1-or-later
// Adapter: keeps how much of the kernel's counters of opens was reported, in a file below the
// runtime directory. Both the file and the counters last until the machine restarts.
#pragma once

#include "core/ports/log.hpp"
#include "core/ports/reported_opens.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace genv::service {

class ReportedOpensFile : public core::ReportedOpensStore {
  public:
    /// The file is `runtime`/refusals.
    ReportedOpensFile(const std::filesystem::path& runtime, core::Log& log)
        : runtime_(runtime), log_(log) {}

    [[nodiscard]] std::optional<std::vector<core::ReportedOpens>> read() override;
    void write(const std::vector<core::ReportedOpens>& reported) noexcept override;

  private:
    void setAside(const std::string& why);

    const std::filesystem::path runtime_;
    core::Log& log_;
    int lastError_ = 0; ///< of the last write, which is logged once
};

} // namespace genv::service
