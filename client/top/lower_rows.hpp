// SPDX-License-Identifier: LGPL-2.1-or-later
// The tables below the GPUs: processes, and the queue.
#pragma once

#include "client/top/columns.hpp"
#include "client/top/view.hpp"

namespace genv::top {

class ProcessListing {
  public:
    ProcessListing(const Frame& frame, const View& view, const Choice& choice, std::size_t width);

    [[nodiscard]] Line title() const;
    [[nodiscard]] Line row(const Process& process) const;

  private:
    const Frame& frame_;
    Charset charset_;
    std::vector<Column> columns_;
};

class QueueTable {
  public:
    QueueTable(const Frame& frame, const View& view, const Choice& choice, std::size_t width);

    [[nodiscard]] Line title() const;
    [[nodiscard]] Line row(const Waiter& waiter) const;

  private:
    const Frame& frame_;
    Charset charset_;
    std::vector<Column> columns_;
};

} // namespace genv::top
