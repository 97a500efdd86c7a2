// SPDX-License-Identifier: LGPL-2.1-or-later
// A set of small numbers, one bit each: which tasks of an array wait. The next one is found without
// a look at the tasks that have ended.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace genv::jobs {

class NumberSet {
  public:
    static constexpr std::size_t none = SIZE_MAX;

    [[nodiscard]] bool empty() const { return count_ == 0; }
    [[nodiscard]] bool contains(std::size_t number) const {
        return number / bits < words_.size() && (words_[number / bits] & maskOf(number)) != 0;
    }
    void insert(std::size_t number) {
        if (contains(number))
            return;
        if (number / bits >= words_.size())
            words_.resize(number / bits + 1);
        words_[number / bits] |= maskOf(number);
        ++count_;
    }
    void erase(std::size_t number) {
        if (!contains(number))
            return;
        words_[number / bits] &= ~maskOf(number);
        --count_;
    }
    /// Returns the lowest number from this one on, or `none`.
    [[nodiscard]] std::size_t from(std::size_t number) const {
        std::size_t word = number / bits;
        if (word >= words_.size())
            return none;
        std::uint64_t rest = words_[word] & (~std::uint64_t{0} << (number % bits));
        while (rest == 0 && ++word < words_.size())
            rest = words_[word];
        return rest == 0 ? none : word * bits + static_cast<std::size_t>(std::countr_zero(rest));
    }

  private:
    static constexpr std::size_t bits = 64;
    static std::uint64_t maskOf(std::size_t number) { return std::uint64_t{1} << (number % bits); }

    std::vector<std::uint64_t> words_;
    std::size_t count_ = 0;
};

} // namespace genv::jobs
