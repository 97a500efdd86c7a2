// SPDX-License-Identifier: LGPL-2.1-or-later
// The table of the environments that are parked, are being parked, or resume.
#pragma once

#include "client/top/columns.hpp"
#include "client/top/view.hpp"

#include <string>

namespace genv::top {

class ParkedTable {
  public:
    /// `frame` must outlive this object.
    ParkedTable(const Frame& frame, const View& view, const Choice& choice, std::size_t width);

    [[nodiscard]] Line title() const;
    [[nodiscard]] Line row(const Parked& parked) const;

  private:
    const Frame& frame_;
    Charset charset_;
    std::vector<Column> columns_;
};

/// Returns the memory that an environment keeps in host memory or, while it moves, the moved part
/// of it.
std::string parkedMemory(const Parked& parked);
/// Returns the GPUs that an environment gave up, such as "0,1".
std::string parkedGpus(const Parked& parked);

} // namespace genv::top
