// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/top/view.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>

namespace genv::top {

namespace {

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool contains(std::string_view text, std::string_view part) {
    return std::search(text.begin(), text.end(), part.begin(), part.end(),
                       [](char a, char b) { return lower(a) == lower(b); }) != text.end();
}

template <typename... Texts>
bool anyContains(std::string_view part, const Texts&... texts) {
    return part.empty() || (contains(texts, part) || ...);
}

bool isChosen(const Choice& choice, std::uint32_t gpu) {
    return choice.gpus.empty() || std::ranges::find(choice.gpus, gpu) != choice.gpus.end();
}

bool isShown(const Frame& frame, const Choice& choice, const Gpu& gpu) {
    if (!isChosen(choice, gpu.index))
        return false;
    const auto isMine = [&](const GpuHolder& holder) { return holder.uid == frame.uid; };
    if (choice.mineOnly && std::ranges::none_of(gpu.holders, isMine))
        return false;
    const Process* outsider = gpu.holders.empty() ? outsiderOn(frame, gpu) : nullptr;
    return anyContains(choice.filter, gpu.label, gpu.model, gpu.health,
                       outsider != nullptr ? outsider->user : std::string()) ||
           std::ranges::any_of(gpu.holders, [&](const GpuHolder& holder) {
               return anyContains(choice.filter, holder.user, holder.environment,
                                  holder.name.value_or(""));
           });
}

bool isShown(const Frame& frame, const Choice& choice, const Process& process) {
    const bool onChosen =
        std::ranges::any_of(process.gpus, [&](std::uint32_t gpu) { return isChosen(choice, gpu); });
    return onChosen && (!choice.mineOnly || process.uid == frame.uid) &&
           anyContains(choice.filter, process.user, process.program,
                       process.environment.value_or("outside"), std::to_string(process.pid));
}

bool isShown(const Frame& frame, const Choice& choice, const Waiter& waiter) {
    return (!choice.mineOnly || waiter.uid == frame.uid) &&
           anyContains(choice.filter, waiter.user, waiter.environment, waiter.name.value_or(""));
}

bool isShown(const Frame& frame, const Choice& choice, const Parked& parked) {
    const bool onChosen =
        std::ranges::any_of(parked.gpus, [&](std::uint32_t gpu) { return isChosen(choice, gpu); });
    return (onChosen || choice.gpus.empty()) && (!choice.mineOnly || parked.uid == frame.uid) &&
           anyContains(choice.filter, parked.user, parked.environment, parked.name.value_or(""),
                       parked.state);
}

template <typename Row>
std::vector<const Row*> shownRows(const Frame& frame, const Choice& choice,
                                  const std::vector<Row>& rows) {
    std::vector<const Row*> shown;
    for (const Row& row : rows) {
        if (isShown(frame, choice, row))
            shown.push_back(&row);
    }
    return shown;
}

// Sorts the largest values first and unknown ones last, and keeps the order of equal ones.
template <typename Row, typename Value>
void sortDown(std::vector<const Row*>& rows, Value value) {
    std::ranges::stable_sort(rows,
                             [&](const Row* a, const Row* b) { return value(*a) > value(*b); });
}

template <typename Row, typename Value>
void sortUp(std::vector<const Row*>& rows, Value value) {
    std::ranges::stable_sort(rows,
                             [&](const Row* a, const Row* b) { return value(*a) < value(*b); });
}

void sortGpus(const Frame& frame, Sort sort, std::vector<const Gpu*>& gpus) {
    const auto user = [&](const Gpu& gpu) {
        const GpuHolder* holder = firstHolder(frame, gpu);
        return holder == nullptr ? std::tuple(true, std::string())
                                 : std::tuple(false, holder->user);
    };
    const auto lease = [&](const Gpu& gpu) {
        const GpuHolder* holder = firstHolder(frame, gpu);
        return holder == nullptr || !holder->expires ? Time::max() : *holder->expires;
    };
    switch (sort) {
    case Sort::Index:
        return;
    case Sort::User:
        return sortUp(gpus, user);
    case Sort::Memory:
        return sortDown(gpus, [](const Gpu& gpu) { return gpu.usedMemoryBytes; });
    case Sort::Utilization:
        return sortDown(gpus, [](const Gpu& gpu) { return gpu.sensors.utilizationPercent; });
    case Sort::Temperature:
        return sortDown(gpus, [](const Gpu& gpu) { return gpu.sensors.temperatureCelsius; });
    case Sort::Power:
        return sortDown(gpus, [](const Gpu& gpu) { return gpu.sensors.powerMilliwatts; });
    case Sort::Lease:
        return sortUp(gpus, lease);
    }
}

void sortProcesses(Sort sort, std::vector<const Process*>& processes) {
    switch (sort) {
    case Sort::User:
        return sortUp(processes, [](const Process& process) { return process.user; });
    case Sort::Memory:
        return sortDown(processes, [](const Process& process) { return process.memoryBytes; });
    case Sort::Utilization:
        return sortDown(processes,
                        [](const Process& process) { return process.utilizationPercent; });
    default:
        return sortUp(processes,
                      [](const Process& process) { return std::tuple(process.gpus, process.pid); });
    }
}

} // namespace

Item itemOf(const Gpu& gpu) {
    return {Item::Kind::Gpu, gpu.index};
}

Item itemOf(const Process& process) {
    return {Item::Kind::Process, process.pid};
}

Item itemOf(const Waiter& waiter) {
    return {Item::Kind::Waiter, waiter.ticket};
}

Item itemOf(const Parked& parked) {
    return {Item::Kind::Parked, parked.key};
}

std::vector<Item> View::items() const {
    std::vector<Item> items;
    items.reserve(gpus.size() + processes.size() + waiters.size() + parked.size());
    for (const Gpu* gpu : gpus)
        items.push_back(itemOf(*gpu));
    for (const Process* process : processes)
        items.push_back(itemOf(*process));
    for (const Waiter* waiter : waiters)
        items.push_back(itemOf(*waiter));
    for (const Parked* each : parked)
        items.push_back(itemOf(*each));
    return items;
}

View viewOf(const Frame& frame, const Choice& choice) {
    View view{shownRows(frame, choice, frame.gpus), shownRows(frame, choice, frame.processes),
              shownRows(frame, choice, frame.waiters), shownRows(frame, choice, frame.parked)};
    sortGpus(frame, choice.sort, view.gpus);
    sortProcesses(choice.sort, view.processes);
    return view;
}

std::optional<Item> selectedItem(const View& view, const Choice& choice) {
    const std::vector<Item> items = view.items();
    if (items.empty())
        return std::nullopt;
    if (choice.selected && std::ranges::find(items, *choice.selected) != items.end())
        return choice.selected;
    return items.front();
}

const Process* outsiderOn(const Frame& frame, const Gpu& gpu) {
    const auto found = std::ranges::find_if(frame.processes, [&](const Process& process) {
        return !process.environment &&
               std::ranges::find(process.gpus, gpu.index) != process.gpus.end();
    });
    return found == frame.processes.end() ? nullptr : &*found;
}

bool isUsedOutside(const Frame& frame, const Gpu& gpu) {
    return gpu.unaccountedBytes > 0 || outsiderOn(frame, gpu) != nullptr;
}

const GpuHolder* firstHolder(const Frame& frame, const Gpu& gpu) {
    if (gpu.holders.empty())
        return nullptr;
    const auto found = std::ranges::find_if(
        gpu.holders, [&](const GpuHolder& holder) { return holder.uid == frame.uid; });
    return found == gpu.holders.end() ? &gpu.holders.front() : &*found;
}

} // namespace genv::top
