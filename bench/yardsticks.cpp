// SPDX-License-Identifier: LGPL-2.1-or-later
// Yardsticks: fixed work outside genv, by whose time bench/targets scales its bounds in
// milliseconds. A slower machine, or a slower day, moves both alike. Prints figures as the parts of
// `./dev bench` do.
//
// usage: yardsticks PART
// On a private bus. PART is the part that is measured next.
#include <nlohmann/json.hpp>
#include <spawn.h>
#include <sys/wait.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace {

[[noreturn]] void fail(const char* what) {
    std::fprintf(stderr, "yardsticks: %s\n", what);
    std::exit(1);
}

double medianMilliseconds(int rounds, const std::function<void()>& work) {
    std::vector<double> times;
    for (int round = 0; round < rounds; ++round) {
        const auto began = std::chrono::steady_clock::now();
        work();
        times.push_back(
            std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began)
                .count());
    }
    std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
    return times[static_cast<std::size_t>(rounds) / 2];
}

std::string manyRows() {
    auto rows = nlohmann::json::array();
    for (int row = 0; row < 10'000; ++row)
        rows.push_back({{"pid", row}, {"name", "row " + std::to_string(row)}, {"bytes", {row, 7}}});
    return rows.dump();
}

void spawn() {
    std::array<char, 5> name{"true"};
    std::array<char*, 2> words{name.data(), nullptr};
    pid_t child = -1;
    int status = -1;
    if (posix_spawn(&child, "/bin/true", nullptr, nullptr, words.data(), environ) != 0 ||
        waitpid(child, &status, 0) != child || status != 0)
        fail("/bin/true cannot be run");
}

void print(const char* part, const char* name, double milliseconds) {
    std::printf(
        R"({"part": "%s", "name": "yardstick %s", "with": {}, "unit": "ms", "median": %.4g})"
        "\n",
        part, name, milliseconds);
}

} // namespace

int main(int count, char** arguments) {
    if (count != 2)
        fail("expected the name of a part");
    sd_bus* bus = nullptr;
    if (sd_bus_open_system(&bus) < 0)
        fail("the bus cannot be reached");
    const std::string text = manyRows();
    std::size_t rows = 0;
    print(arguments[1], "parse",
          medianMilliseconds(41, [&] { rows += nlohmann::json::parse(text).size(); }));
    if (rows != 41U * 10'000U)
        fail("rows were lost");
    print(arguments[1], "spawn", medianMilliseconds(301, spawn));
    print(arguments[1], "ping", medianMilliseconds(1001, [&] {
              if (sd_bus_call_method(bus, "org.freedesktop.DBus", "/org/freedesktop/DBus",
                                     "org.freedesktop.DBus", "GetId", nullptr, nullptr,
                                     nullptr) < 0)
                  fail("the bus does not answer");
          }));
    sd_bus_unref(bus);
    return 0;
}
