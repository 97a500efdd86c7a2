// SPDX-License-Identifier: LGPL-2.1-or-later
// Names in genvd.conf while the user database does not answer: a function of the C library is
// replaced by one that always fails.
#include "service/settings/settings_file.hpp"
#include "tests/service/temporary_folder.hpp"

#include <gtest/gtest.h>
#include <pwd.h>

#include <cerrno>
#include <string>
#include <vector>

extern "C" int getpwnam_r(const char* /*name*/, passwd* /*entry*/, char* /*buffer*/,
                          std::size_t /*size*/, passwd** found) {
    *found = nullptr;
    return EIO;
}

namespace genv::tests {
namespace {

TEST(SettingsNames, ThatCannotBeLookedUpAreReportedAndPermitted) {
    TemporaryFolder folder;
    folder.write("genvd.conf", "[Isolation]\nIsolationExempt=jdoe\n[User alice]\nMaxLifetime=1d\n");
    const std::string file = folder.path() / "genvd.conf";
    const service::SettingsCheck check = service::checkSettingsFile(file);
    EXPECT_EQ(check.errors, std::vector<std::string>{});
    EXPECT_EQ(check.warnings,
              (std::vector<std::string>{
                  file + ":2: warning: cannot look up the user \"jdoe\": Input/output error",
                  file + ":3: warning: cannot look up the user \"alice\": Input/output error"}));
}

} // namespace
} // namespace genv::tests
