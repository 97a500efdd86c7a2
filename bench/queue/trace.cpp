// SPDX-License-Identifier: LGPL-2.1-or-later
#include "bench/queue/trace.hpp"

#include "core/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <random>
#include <sstream>

namespace genv::bench {

namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr int daysOfMonth = 30;

// The distributions of the standard library differ between implementations.
class Chance {
  public:
    seconds between(seconds least, seconds most) {
        return least + seconds{static_cast<std::int64_t>(
                           random_() % static_cast<std::uint64_t>((most - least).count() + 1))};
    }
    unsigned below(unsigned limit) { return static_cast<unsigned>(random_() % limit); }
    bool percent(unsigned percent) { return below(100) < percent; }

  private:
    std::mt19937_64 random_{20};
};

class Month {
  public:
    Trace make() && {
        for (int person = 0; person < 20; ++person) {
            const bool sweeps = person < 3;
            const bool isRegular = person < 15;
            user_ = 1000 + static_cast<core::Uid>(person);
            trace_.names[user_] = fmt::format("{}{}",
                                              sweeps      ? "sweeper"
                                              : isRegular ? "regular"
                                                          : "guest",
                                              person + 1);
            for (int day = 0; day < daysOfMonth; ++day) {
                if (sweeps)
                    addNight(day);
                else
                    addDay(day, isRegular);
            }
        }
        std::ranges::stable_sort(trace_.requests, {}, &TraceRequest::arrival);
        return std::move(trace_);
    }

  private:
    void add(seconds arrival, std::uint32_t gpus, seconds duration) {
        trace_.requests.push_back({arrival, user_, gpus, duration, chance_.percent(50)});
    }
    // 150 commands at midnight, twice a month on average.
    void addNight(int day) {
        if (!chance_.percent(7))
            return;
        // Taken from the day, so that the rest of the month is the same whatever is parked.
        const core::Bytes memory{(4ULL + static_cast<std::uint64_t>(day) * 7 % 37) << 30U};
        for (int i = 0; i < 150; ++i) {
            add(days{day}, 1, chance_.between(hours{1}, hours{4}));
            trace_.requests.back().loan = memory;
        }
    }
    void addDay(int day, bool isRegular) {
        const bool isWeekend = day % 7 >= 5;
        const unsigned requests = isWeekend   ? 0
                                  : isRegular ? 1 + chance_.below(4)
                                              : chance_.below(2);
        for (unsigned i = 0; i < requests; ++i) {
            const seconds arrival = days{day} + chance_.between(hours{9}, hours{18});
            if (isRegular)
                add(arrival, chance_.percent(80) ? 1 : 2, chance_.between(minutes{30}, hours{6}));
            else
                add(arrival, 1 + chance_.below(4), chance_.between(minutes{10}, hours{2}));
        }
    }

    Chance chance_;
    Trace trace_;
    core::Uid user_ = 0;
};

template <typename Number>
Number numberIn(const std::string& text, Number least, Number most) {
    Number number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size() || number < least || number > most)
        core::fail(core::ErrorCode::InvalidArgs, "expected a number from {} to {}", least, most);
    return number;
}

TraceRequest readLine(const std::string& line, std::map<std::string, core::Uid>& users,
                      std::uint32_t gpus) {
    std::vector<std::string> cells;
    std::istringstream stream(line);
    for (std::string cell; std::getline(stream, cell, ',');)
        cells.push_back(cell);
    if (cells.size() != 4 && cells.size() != 5)
        core::fail(core::ErrorCode::InvalidArgs, "expected ARRIVAL,USER,GPUS,DURATION[,GIB]");
    constexpr std::int64_t century = 3'155'760'000;
    const auto uid =
        users.try_emplace(cells[1], 1000 + static_cast<core::Uid>(users.size())).first->second;
    TraceRequest request{seconds{numberIn<std::int64_t>(cells[0], 0, century)}, uid,
                         numberIn<std::uint32_t>(cells[2], 1, gpus),
                         seconds{numberIn<std::int64_t>(cells[3], 1, century)}, false};
    constexpr std::uint64_t perGpu = 79; // with room for a context on the made-up GPUs
    if (cells.size() == 5)
        request.loan = core::Bytes{numberIn<std::uint64_t>(cells[4], 1, perGpu) << 30U};
    return request;
}

} // namespace

Trace madeUpMonth() {
    return Month().make();
}

Trace readTrace(const std::filesystem::path& file, std::uint32_t gpus) {
    std::ifstream stream(file);
    if (!stream)
        core::fail(core::ErrorCode::InvalidArgs, "cannot read {}", file.native());
    Trace trace;
    trace.gpus = gpus;
    std::map<std::string, core::Uid> users;
    std::size_t number = 0;
    for (std::string line; std::getline(stream, line);) {
        ++number;
        if (line.empty() || line.front() == '#')
            continue;
        try {
            trace.requests.push_back(readLine(line, users, gpus));
        } catch (const core::Error& error) {
            core::fail(core::ErrorCode::InvalidArgs, "{}:{}: {}", file.native(), number,
                       error.what());
        }
    }
    if (trace.requests.empty())
        core::fail(core::ErrorCode::InvalidArgs, "{} has no requests", file.native());
    for (const auto& [name, uid] : users)
        trace.names[uid] = name;
    std::ranges::stable_sort(trace.requests, {}, &TraceRequest::arrival);
    return trace;
}

} // namespace genv::bench
