// SPDX-License-Identifier: LGPL-2.1-or-later
// The page for auditors is accurate: its numbers are those of the caps, and the tests that it names
// exist.
#include "core/settings/caps.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <string>

namespace genv::tests {
namespace {

namespace caps = core::caps;

std::string read(const std::filesystem::path& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
}

TEST(SecurityPage, HasTheNumbersOfTheCaps) {
    const std::map<std::string, std::size_t> known{
        {"environmentsPerUser", caps::environmentsPerUser},
        {"processesPerUser", caps::processesPerUser},
        {"waitsPerUser", caps::waitsPerUser},
        {"questionsAtPolkit", caps::questionsAtPolkit},
        {"questionsPerUser", caps::questionsPerUser},
        {"promptsPerUser", caps::promptsPerUser},
        {"listCallsPerUser", caps::listCallsPerUser},
        {"startingCallsPerUser", caps::startingCallsPerUser},
        {"callsPerUser", caps::callsPerUser},
        {"callsPerUserEachSecond", caps::callsPerUserEachSecond},
        {"callsOfStrangers", caps::callsOfStrangers},
        {"bytesOfStrangers", caps::bytesOfStrangers},
        {"repeatedEnforcementsPerUser", caps::repeatedEnforcementsPerUser},
        {"limitsPerEnforcement", caps::limitsPerEnforcement},
        {"valuesPerCall", caps::valuesPerCall},
        {"bytesPerCall", caps::bytesPerCall},
        {"bytesPerUsersCall", caps::bytesPerUsersCall},
        {"reportsPerUser", caps::reportsPerUser},
    };
    const std::string page = read(GENV_SECURITY_PAGE);
    std::map<std::string, std::size_t> documented;
    const std::regex row(R"(\| (\d+) \| `(\w+)` \|)");
    for (std::sregex_iterator match(page.begin(), page.end(), row), end; match != end; ++match)
        documented[(*match)[2]] = std::stoul((*match)[1]);
    EXPECT_EQ(documented, known);
    // Every cap is in this list.
    const std::string header = read(std::filesystem::path(GENV_SOURCE) / "core/settings/caps.hpp");
    const std::regex constant(R"(constexpr std::size_t (\w+))");
    for (std::sregex_iterator match(header.begin(), header.end(), constant), end; match != end;
         ++match)
        EXPECT_TRUE(known.contains((*match)[1])) << (*match)[1];
}

TEST(SecurityPage, NamesTestsThatAreThere) {
    std::string sources;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(
             std::filesystem::path(GENV_SOURCE) / "tests")) {
        if (entry.path().extension() == ".cpp")
            sources += read(entry.path());
    }
    const std::string page = read(GENV_SECURITY_PAGE);
    const std::regex name(R"(`([A-Z]\w+)\.([A-Z]\w+)`)");
    std::size_t count = 0;
    for (std::sregex_iterator match(page.begin(), page.end(), name), end; match != end; ++match) {
        const std::string wanted = "(" + (*match)[1].str() + ", " + (*match)[2].str() + ")";
        EXPECT_NE(sources.find(wanted), std::string::npos) << wanted;
        ++count;
    }
    EXPECT_GT(count, 50U);
}

} // namespace
} // namespace genv::tests
