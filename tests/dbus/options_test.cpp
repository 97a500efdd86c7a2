// SPDX-License-Identifier: LGPL-2.1-or-later
// Options of calls are parsed strictly, a path names exactly one object, and every refusal has its
// error name.
#include "dbus/calls/call_options.hpp"
#include "dbus/calls/errors.hpp"
#include "dbus/calls/paths.hpp"
#include "dbus/contract/names.hpp"
#include "tests/core/fakes.hpp"

#include <gtest/gtest.h>

#include <set>

namespace genv::tests {
namespace {

using core::ErrorCode;
using dbus::CallOptions;
using sdbus::Variant;

std::string refusalOf(const std::function<void()>& function) {
    try {
        function();
    } catch (const core::Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::InvalidArgs);
        return error.what();
    }
    return "";
}

TEST(CallOptions, AreTakenOnceAndOnlyOfTheirType) {
    CallOptions options({{"gpus", Variant{std::uint32_t{2}}}, {"id", Variant{std::string("x")}}});
    EXPECT_EQ(options.take<std::uint32_t>("gpus"), 2U);
    EXPECT_EQ(options.take<std::uint32_t>("gpus"), std::nullopt);
    EXPECT_EQ(options.take<std::string>("name"), std::nullopt);
    EXPECT_EQ(refusalOf([&] { options.take<std::uint32_t>("id"); }),
              R"(invalid type "s" of option "id": expected "u")");
    options.finish();
}

TEST(CallOptions, ThatNobodyTakesAreRefusedWithThoseThereAre) {
    CallOptions options({{"gpu\x1b", Variant{std::uint32_t{2}}}});
    options.take<std::uint32_t>("gpus");
    options.takeFlag("wait");
    EXPECT_EQ(refusalOf([&] { options.finish(); }),
              R"(unknown option "gpu\x1b": expected one of gpus, wait)");
}

TEST(CallOptions, CarryMemoryAsTextOrInBytes) {
    const auto memory = [](const Variant& value) {
        return CallOptions({{"gpu-memory", value}}).takeMemory("gpu-memory");
    };
    EXPECT_EQ(memory(Variant{std::string("4g")}), core::Bytes{4'000'000'000});
    EXPECT_EQ(memory(Variant{std::uint64_t{4096}}), core::Bytes{4096});
    EXPECT_EQ(CallOptions({}).takeMemory("gpu-memory"), std::nullopt);
    EXPECT_NE(refusalOf([&] { memory(Variant{std::uint64_t{0}}); }), "");
    EXPECT_NE(refusalOf([&] { memory(Variant{std::string("a lot")}); }), "");
    EXPECT_EQ(refusalOf([&] { memory(Variant{std::int32_t{4096}}); }),
              R"(invalid type "i" of option "gpu-memory": expected "s" or "t")");
}

TEST(CallOptions, CarryTimesFromASecondToAHundredYears) {
    const auto seconds = [](std::uint64_t value) {
        return CallOptions({{"timeout", Variant{value}}}).takeSeconds("timeout");
    };
    EXPECT_EQ(seconds(1), std::chrono::seconds{1});
    EXPECT_EQ(seconds(3'153'600'000), std::chrono::seconds{3'153'600'000});
    for (const std::uint64_t impossible : {std::uint64_t{0}, std::uint64_t{3'153'600'001},
                                           std::numeric_limits<std::uint64_t>::max()})
        EXPECT_NE(refusalOf([&] { seconds(impossible); }).find("expected 1-3153600000"),
                  std::string::npos)
            << impossible;
    EXPECT_EQ(CallOptions({}).takeSeconds("timeout"), std::nullopt);
}

TEST(CallOptions, CarryNamesThatATerminalMayShow) {
    const auto name = [](const char* value) {
        return CallOptions({{"name", Variant{std::string(value)}}}).takeName("name");
    };
    EXPECT_EQ(name("Norwegian Wood"), "Norwegian Wood");
    EXPECT_NE(refusalOf([&] { name("\x1b[2J"); }), "");
    EXPECT_NE(refusalOf([&] { name(""); }), "");
}

TEST(Paths, NameAnEnvironmentWhateverItsId) {
    for (const char* id : {"1573", "a.b_c:d@e-f", "..", "_2e"}) {
        const std::string path = dbus::environmentPath(id);
        EXPECT_EQ(dbus::environmentIdOf(path), id) << path;
    }
    EXPECT_EQ(dbus::environmentPath("a/b").find("a/b"), std::string::npos);
    EXPECT_EQ(dbus::environmentIdOf("/dev/genv/Manager"), std::nullopt);
    EXPECT_EQ(dbus::environmentIdOf(dbus::devicePath(3)), std::nullopt);
    EXPECT_EQ(std::string(dbus::devicePath(3)), "/dev/genv/Manager/device/3");
}

TEST(Errors, HaveANameOfTheirOwnEach) {
    std::set<std::string> names;
    for (const ErrorCode code :
         {ErrorCode::NoSuchEnvironment, ErrorCode::NoSuchDevice,
          ErrorCode::NoSuchProcess,     ErrorCode::DeviceUnavailable,
          ErrorCode::NotEnoughDevices,  ErrorCode::AlreadyExists,
          ErrorCode::QuotaExceeded,     ErrorCode::NotAttached,
          ErrorCode::NoSuchWait,        ErrorCode::Busy,
          ErrorCode::AccessDenied,      ErrorCode::InteractiveAuthorizationRequired,
          ErrorCode::InvalidArgs,       ErrorCode::LimitsExceeded,
          ErrorCode::NotSupported,      ErrorCode::CannotPark,
          ErrorCode::NotParked,         ErrorCode::NoHostMemory,
          ErrorCode::Timeout,           ErrorCode::StorageFailed,
          ErrorCode::Internal}) {
        const std::string name = dbus::busErrorName(code);
        EXPECT_TRUE(name.starts_with("dev.genv.Error.") ||
                    name.starts_with("org.freedesktop.DBus.Error."))
            << name;
        EXPECT_TRUE(names.insert(name).second) << name << " says two things";
    }
    EXPECT_EQ(dbus::toBusError({ErrorCode::Busy, "try later"}).getMessage(), "try later");
}

TEST(Errors, TellNobodyWhatAFaultSays) {
    const auto caught = [](auto thrown) {
        try {
            throw thrown;
        } catch (...) {
            std::string fault;
            const core::Error error = dbus::currentRefusal(fault);
            return std::pair(error, fault);
        }
    };
    const auto [refusal, none] = caught(core::Error(ErrorCode::Busy, "wait a little"));
    EXPECT_EQ(refusal.code(), ErrorCode::Busy);
    EXPECT_STREQ(refusal.what(), "wait a little");
    EXPECT_EQ(none, "");
    const auto [foreign, message] = caught(std::runtime_error("the secret"));
    EXPECT_EQ(foreign.code(), ErrorCode::Internal);
    EXPECT_EQ(std::string(foreign.what()).find("secret"), std::string::npos);
    EXPECT_EQ(message, "the secret") << "for the log";
    const auto [own, why] = caught(core::Error(ErrorCode::Internal, "the secret"));
    EXPECT_EQ(std::string(own.what()).find("secret"), std::string::npos);
    EXPECT_EQ(why, "the secret");
    const auto [strange, what] = caught(42);
    EXPECT_EQ(strange.code(), ErrorCode::Internal);
    EXPECT_NE(what, "");
}

} // namespace
} // namespace genv::tests
