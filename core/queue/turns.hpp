// SPDX-License-Identifier: LGPL-2.1-or-later
// Items of several users, who take turns. The items of one user keep their order.
#pragma once

#include "core/base/process.hpp"

#include <deque>
#include <map>
#include <optional>
#include <utility>

namespace genv::core {

template <typename Item>
class Turns {
  public:
    void add(Uid user, Item item) { items_[user].push_back(std::move(item)); }

    /// Removes and returns the first item of the user after the one who was last served; nothing
    /// if there is none. Items that are not `isWanted` any more are dropped, and cost their user no
    /// turn.
    template <typename IsWanted>
    std::optional<Item> take(IsWanted isWanted) {
        while (!items_.empty()) {
            auto turn = items_.upper_bound(lastServed_);
            if (turn == items_.end())
                turn = items_.begin();
            const Uid user = turn->first;
            Item item = std::move(turn->second.front());
            turn->second.pop_front();
            if (turn->second.empty())
                items_.erase(turn);
            if (!isWanted(item))
                continue;
            lastServed_ = user;
            return item;
        }
        return std::nullopt;
    }

  private:
    std::map<Uid, std::deque<Item>> items_; ///< has no entry for a user without items
    Uid lastServed_ = 0;
};

} // namespace genv::core
