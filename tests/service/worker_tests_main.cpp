// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs the tests of the workers. Like genvd, the program is its own reader of /proc, so that these
// tests need no genvd.
#include "service/processes/proc_server.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

int main(int count, char** arguments) {
    constexpr std::string_view option = "--read-processes=";
    if (count == 2 && std::string_view(arguments[1]).starts_with(option))
        return genv::service::serveProcReads(std::atoi(arguments[1] + option.size()));
    testing::InitGoogleTest(&count, arguments);
    return RUN_ALL_TESTS();
}
