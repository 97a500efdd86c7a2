// SPDX-License-Identifier: LGPL-2.1-or-later
// The state of the user interface: the shown rows, their order, the open question and the message.
#pragma once

#include "client/top/service_requests.hpp"
#include "client/top/span.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace genv::top {

/// Identifies a row by its subject, so that it stays selected when it moves.
struct Item {
    enum class Kind { Gpu, Process, Waiter, Parked };
    Kind kind = Kind::Gpu;
    std::uint64_t key = 0; ///< index, PID, ticket or start

    friend bool operator==(const Item&, const Item&) = default;
};

enum class Sort { Index, User, Memory, Utilization, Temperature, Power, Lease };

/// A question in the last line.
struct Prompt {
    enum class Kind { Confirm, Environment, Count, Time };
    Kind kind = Kind::Confirm;
    std::string question; ///< safe
    std::string input;    ///< but for Confirm
    Request request;      ///< what follows from the answer
};

enum class Overlay { None, Help, Details, Jobs };

struct Choice {
    std::optional<Item> selected;
    std::string filter;
    bool isFiltering = false; ///< the filter is being typed
    bool isSorting = false;   ///< the letter after "o" is awaited
    bool mineOnly = false;
    Sort sort = Sort::Index;
    Overlay overlay = Overlay::None;
    std::size_t job = 0; ///< the selected row of the list of jobs
    std::optional<Prompt> prompt;
    std::string message; ///< safe; in the last line until the next key
    bool isBadNews = false;
    bool isReadOnly = false;
    bool mayTerminate = true;        ///< unless GENV_TERMINATE_PROCESSES=0
    std::vector<std::uint32_t> gpus; ///< only these; empty: all
    Charset charset = Charset::Unicode;
};

struct Size {
    std::size_t rows = 24;
    std::size_t columns = 80;
};

} // namespace genv::top
