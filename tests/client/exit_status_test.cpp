// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/common/exit_status.hpp"
#include "dbus/contract/names.hpp"

#include <gtest/gtest.h>

namespace genv::ctl {
namespace {

namespace names = dbus::contract::error;

ExitStatus statusOf(const char* name) {
    return toFailure(Error(name, "why")).status();
}

TEST(ExitStatus, FollowsTheErrorsName) {
    EXPECT_EQ(statusOf(names::notEnoughDevices), ExitStatus::NoDevice);
    EXPECT_EQ(statusOf(names::deviceUnavailable), ExitStatus::NoDevice);
    EXPECT_EQ(statusOf(names::accessDenied), ExitStatus::NotAuthorized);
    EXPECT_EQ(statusOf(names::interactiveAuthorizationRequired), ExitStatus::NotAuthorized);
    EXPECT_EQ(statusOf(names::invalidArgs), ExitStatus::Usage);
    EXPECT_EQ(statusOf(names::quotaExceeded), ExitStatus::QuotaExceeded);
    EXPECT_EQ(statusOf(names::limitsExceeded), ExitStatus::QuotaExceeded);
    for (const char* name :
         {names::noSuchEnvironment, names::noSuchDevice, names::noSuchProcess, names::alreadyExists,
          names::notAttached, names::noSuchWait, names::busy, names::notSupported, names::timeout,
          names::ioError, names::failed, "an.unknown.Name"})
        EXPECT_EQ(statusOf(name), ExitStatus::Failed) << name;
}

TEST(ExitStatus, TellsAServiceThatIsNotThereFromOneThatRefuses) {
    const Failure failure =
        toFailure(ServiceUnavailable("org.freedesktop.DBus.Error.ServiceUnknown", "why"));
    EXPECT_EQ(failure.status(), ExitStatus::NoService);
    EXPECT_NE(failure.hint(), "");
}

TEST(ExitStatus, NamesTheLimitOfTheBusAsSuch) {
    const Failure failure = toFailure(ServiceUnavailable(
        names::limitsExceeded, "the system bus accepts no more connections of this user: full"));
    EXPECT_EQ(failure.status(), ExitStatus::NoService);
    EXPECT_STREQ(failure.what(), "Cannot connect: the system bus accepts no more connections of "
                                 "this user: full");
    EXPECT_NE(failure.hint().find("max_connections_per_user"), std::string::npos);
    EXPECT_EQ(failure.hint().find("systemctl"), std::string::npos);
}

TEST(ExitStatus, SaysHowAMaskedServiceMayStartAgain) {
    const Failure failure = toFailure(
        ServiceUnavailable("org.freedesktop.systemd1.UnitMasked", "genvd.service is masked"));
    EXPECT_EQ(failure.status(), ExitStatus::NoService);
    EXPECT_NE(failure.hint().find("systemctl unmask genvd"), std::string::npos);
    EXPECT_EQ(failure.hint().find("systemctl start"), std::string::npos);
}

TEST(ExitStatus, AdvisesNobodyToStartAServiceThatIsNotInstalled) {
    const Failure failure = toFailure(ServiceUnavailable("org.freedesktop.systemd1.NoSuchUnit",
                                                         "genvd.service is not installed"));
    EXPECT_EQ(failure.status(), ExitStatus::NoService);
    EXPECT_NE(failure.hint().find("install"), std::string::npos);
    EXPECT_EQ(failure.hint().find("systemctl"), std::string::npos);
}

TEST(ExitStatus, KeepsTheServicesOwnWords) {
    EXPECT_STREQ(toFailure(Error(names::deviceUnavailable, "Device 3 is not available")).what(),
                 "Device 3 is not available");
}

} // namespace
} // namespace genv::ctl
