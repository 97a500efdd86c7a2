// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/use/start_history.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace genv::core {

namespace {

// Shorter times cannot be told apart by users.
constexpr std::chrono::seconds shortest{1};

template <typename Rows>
auto findRow(Rows& rows, Uid uid, const std::string& name) {
    return std::ranges::find_if(
        rows, [&](const LengthRow& row) { return row.uid == uid && row.name == name; });
}

template <typename Values>
void bound(Values& values, std::size_t max) {
    while (values.size() > max)
        values.erase(values.begin());
}

} // namespace

void StartHistory::onEvent(const Event& event) {
    const auto* removed = std::get_if<EnvironmentRemoved>(&event);
    if (removed == nullptr || removed->former->attachments.empty() || removed->former->parent)
        return;
    const EnvironmentRecord& former = *removed->former;
    ended(former.uid, former.configuration.name.value_or(""), clock_.bootNow() - former.began);
}

void StartHistory::ended(Uid uid, const std::string& name, std::chrono::microseconds length) {
    LengthRow row{uid, name, {}};
    if (const auto known = findRow(rows_, uid, name); known != rows_.end()) {
        row = std::move(*known);
        rows_.erase(known);
    }
    row.lengths.push_back(std::chrono::ceil<std::chrono::seconds>(
        std::max<std::chrono::microseconds>(length, shortest)));
    bound(row.lengths, maxLengths);
    rows_.push_back(std::move(row));
    bound(rows_, maxRows);
}

std::optional<std::chrono::microseconds>
StartHistory::expectedLength(Uid uid, const std::string& name,
                             std::chrono::microseconds age) const {
    const auto row = findRow(rows_, uid, name);
    if (row == rows_.end() || row->lengths.empty())
        return std::nullopt;
    std::vector<std::chrono::seconds> lengths = row->lengths;
    const auto median = [&] {
        const auto middle = lengths.begin() + std::ptrdiff_t(lengths.size() / 2);
        std::ranges::nth_element(lengths, middle);
        return *middle;
    };
    if (median() > age)
        return median();
    std::erase_if(lengths, [&](std::chrono::seconds length) { return length <= age; });
    return lengths.empty() ? std::nullopt : std::optional(median());
}

void StartHistory::waited(std::chrono::microseconds expected, std::chrono::microseconds actual) {
    const auto a = std::max<std::chrono::microseconds>(expected, shortest);
    const auto b = std::max<std::chrono::microseconds>(actual, shortest);
    guesses_.push_back(a <= 2 * b && b <= 2 * a);
    bound(guesses_, maxGuesses);
}

bool StartHistory::isReliable() const {
    const auto right = std::ranges::count(guesses_, true);
    return 2 * static_cast<std::size_t>(right) >= guesses_.size();
}

void StartHistory::addTo(UseRecord& record) const {
    record.lengths.assign(rows_.begin(), rows_.end());
    record.guesses.assign(guesses_.begin(), guesses_.end());
}

void StartHistory::restore(const UseRecord& record) {
    rows_.assign(record.lengths.begin(), record.lengths.end());
    for (LengthRow& row : rows_)
        bound(row.lengths, maxLengths);
    bound(rows_, maxRows);
    guesses_.assign(record.guesses.begin(), record.guesses.end());
    bound(guesses_, maxGuesses);
}

} // namespace genv::core
