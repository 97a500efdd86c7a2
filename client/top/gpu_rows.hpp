// SPDX-License-Identifier: LGPL-2.1-or-later
// The table of GPUs: a row for each.
#pragma once

#include "client/top/columns.hpp"
#include "client/top/view.hpp"

namespace genv::top {

class GpuTable {
  public:
    GpuTable(const Frame& frame, const View& view, const Choice& choice, std::size_t width);

    [[nodiscard]] Line title() const;
    [[nodiscard]] Line row(const Gpu& gpu) const;

  private:
    [[nodiscard]] Line memory(const Gpu& gpu, const Column& column) const;
    [[nodiscard]] Line utilization(const Gpu& gpu, const Column& column) const;
    [[nodiscard]] Line history(const Gpu& gpu, const Column& column) const;
    [[nodiscard]] Line user(const Gpu& gpu, const Column& column) const;
    [[nodiscard]] Line environment(const Gpu& gpu, const Column& column) const;
    [[nodiscard]] Line lease(const Gpu& gpu, const Column& column) const;

    const Frame& frame_;
    Charset charset_;
    std::size_t amountWidth_ = 0; ///< of the widest text about memory
    std::vector<Column> columns_;
};

} // namespace genv::top
