// SPDX-License-Identifier: LGPL-2.1-or-later
// A request to a helper that cannot be sent.
#include "service/loop/line_exchange.hpp"
#include "tests/core/fakes.hpp"
#include "tests/service/line_helper.hpp"
#include "tests/service/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <system_error>

namespace genv::tests {
namespace {

TEST(LineExchange, RefusesARequestThatCannotBeSentAtOnce) {
    const TemporaryFolder folder;
    const LineHelper helper(folder.path() / "socket", [](const std::string&) { return ""; });
    const std::string tooLong(std::size_t{16} << 20, 'x');
    FakeScheduler scheduler;
    try {
        const service::LineExchange exchange(folder.path() / "socket", tooLong,
                                             std::chrono::seconds{10}, 256, scheduler,
                                             [](auto, const std::string&) {});
        ADD_FAILURE() << "the request was sent";
    } catch (const std::system_error& error) {
        EXPECT_EQ(error.code().value(), EMSGSIZE);
    }
}

} // namespace
} // namespace genv::tests
