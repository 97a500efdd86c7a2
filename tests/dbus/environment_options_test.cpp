// SPDX-License-Identifier: LGPL-2.1-or-later
// The options of Attach, Activate and Configure, and the options that they refuse before polkit is
// asked.
#include "dbus/calls/environment_options.hpp"
#include "tests/core/ledger_fixture.hpp"

#include <gtest/gtest.h>

namespace genv::tests {
namespace {

using core::ErrorCode;
using dbus::VariantMap;
using sdbus::Variant;

Variant number(std::uint32_t value) {
    return Variant{value};
}
Variant text(const char* value) {
    return Variant{std::string(value)};
}

core::EnvironmentRecord environment(std::optional<std::uint32_t> gpus = std::nullopt) {
    core::EnvironmentRecord result;
    result.id = "20";
    result.uid = alice;
    result.user = "alice";
    result.configuration.gpus = gpus;
    result.configuration.gpuMemory = gigabytes(4);
    return result;
}
std::string refusal(const VariantMap& options,
                    std::optional<std::uint32_t> configured = std::nullopt) {
    try {
        dbus::readAttachOptions(options, environment(configured));
    } catch (const core::Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::InvalidArgs);
        return error.what();
    }
    return "";
}

TEST(AttachCallOptions, SayWhichDevicesInOneOfFiveWays) {
    const auto wanted = [](const VariantMap& options, std::optional<std::uint32_t> gpus = {}) {
        return dbus::readAttachOptions(options, environment(gpus)).request.wanted;
    };
    EXPECT_EQ(std::get<core::CountWanted>(wanted({{"count", number(3)}}, 2)).count, 3U);
    EXPECT_EQ(std::get<core::CountWanted>(wanted({}, 2)).count, 2U) << "as it is configured";
    EXPECT_EQ(std::get<core::IndicesWanted>(wanted({{"index", number(1)}}, 2)).indices,
              std::vector<core::DeviceIndex>{1});
    EXPECT_EQ(std::get<core::IndicesWanted>(
                  wanted({{"indices", Variant{std::vector<std::uint32_t>{0, 3}}}}, 2))
                  .indices,
              (std::vector<core::DeviceIndex>{0, 3}));
    EXPECT_EQ(std::get<core::UuidsWanted>(wanted({{"uuid", text("GPU-1")}}, 2)).uuids,
              std::vector<std::string>{"GPU-1"});
    EXPECT_EQ(refusal({}), "environment 20 has no device count configured; configure gpus, or "
                           "give count or index");
}

TEST(AttachCallOptions, NameEachDeviceOnce) {
    const auto request = [](const VariantMap& options) {
        return dbus::readAttachOptions(options, environment()).request.wanted;
    };
    EXPECT_EQ(std::get<core::IndicesWanted>(
                  request({{"indices", Variant{std::vector<std::uint32_t>{3, 0, 3}}}}))
                  .indices,
              (std::vector<core::DeviceIndex>{3, 0}));
    EXPECT_EQ(
        std::get<core::UuidsWanted>(
            request({{"uuids", Variant{std::vector<std::string>{"GPU-1", "GPU-0", "GPU-1"}}}}))
            .uuids,
        (std::vector<std::string>{"GPU-1", "GPU-0"}));
}

TEST(AttachCallOptions, CarryTheShareThatIsConfiguredAndTheModel) {
    const auto options = dbus::readAttachOptions({{"count", number(1)},
                                                  {"model", text("a100")},
                                                  {"over-subscribe", Variant{true}},
                                                  {"exact", Variant{true}},
                                                  {"wait", Variant{true}},
                                                  {"timeout", Variant{std::uint64_t{60}}},
                                                  {"lifetime", Variant{std::uint64_t{3600}}}},
                                                 environment());
    EXPECT_EQ(options.request.share, gigabytes(4));
    EXPECT_EQ(options.request.model, "a100");
    EXPECT_TRUE(options.request.overSubscribe);
    EXPECT_TRUE(std::get<core::CountWanted>(options.request.wanted).exact);
    EXPECT_TRUE(options.terms.wait);
    EXPECT_EQ(options.terms.timeout, std::chrono::minutes{1});
    EXPECT_EQ(options.terms.lifetime, std::chrono::hours{1});
}

TEST(AttachCallOptions, AreRefusedWhereTheyContradictEachOther) {
    const Variant indices{std::vector<std::uint32_t>{0}};
    const std::vector<std::pair<const char*, Variant>> ways{
        {"count", number(1)},
        {"index", number(1)},
        {"indices", indices},
        {"uuid", text("GPU-1")},
        {"uuids", Variant{std::vector<std::string>{"GPU-1"}}}};
    for (const auto& one : ways) {
        for (const auto& other : ways) {
            if (one.first != other.first) {
                EXPECT_EQ(refusal({one, other}).find("give only one of "), 0U)
                    << one.first << other.first;
            }
        }
    }
    for (const auto& way : ways) {
        const std::string name = way.first;
        EXPECT_EQ(refusal({way, {"model", text("a100")}}),
                  name == "count" || name == "index"
                      ? ""
                      : "model can be combined with count or index only");
        EXPECT_EQ(refusal({way, {"exact", Variant{true}}}),
                  name == "count" ? "" : "exact can be combined with count only");
    }
    EXPECT_EQ(refusal({{"count", number(1)}, {"timeout", Variant{std::uint64_t{1}}}}),
              "timeout says how long to wait at most; it needs wait");
    EXPECT_EQ(refusal({{"count", number(1)}, {"hold-for-quota", Variant{true}}}),
              "hold-for-quota is an option of a request that waits; it needs wait");
}

TEST(Configure, SetsWhatIsGivenAndUnsetsWhatIsNamed) {
    const core::EnvironmentConfigurationChange set =
        dbus::readConfigurationChange({{"name", text("Yesterday")},
                                       {"gpus", number(2)},
                                       {"gpu-memory", text("4g")},
                                       {"lifetime", Variant{std::uint64_t{60}}},
                                       {"over-subscribable", Variant{true}}},
                                      {});
    EXPECT_EQ(set.overSubscribable, true);
    EXPECT_EQ(set.name.value(), "Yesterday");
    EXPECT_EQ(set.gpus.value(), 2U);
    EXPECT_EQ(set.gpuMemory.value(), gigabytes(4));
    EXPECT_EQ(set.lifetime.value(), std::chrono::minutes{1});

    const core::EnvironmentConfigurationChange unset = dbus::readConfigurationChange(
        {}, {"name", "gpus", "gpu-memory", "lifetime", "over-subscribable"});
    EXPECT_EQ(unset.overSubscribable, false);
    EXPECT_EQ(unset.name, std::optional<std::optional<std::string>>(std::in_place));
    EXPECT_EQ(unset.gpus, std::optional<std::optional<std::uint32_t>>(std::in_place));
    EXPECT_EQ(unset.gpuMemory, std::optional<std::optional<core::Bytes>>(std::in_place));
    EXPECT_EQ(unset.lifetime, std::optional<std::optional<std::chrono::seconds>>(std::in_place));

    const core::EnvironmentConfigurationChange nothing = dbus::readConfigurationChange({}, {});
    EXPECT_FALSE(nothing.name || nothing.gpus || nothing.gpuMemory || nothing.lifetime ||
                 nothing.overSubscribable);
    EXPECT_EQ(dbus::readConfigurationChange({{"gpus", number(0)}}, {}).gpus,
              std::optional<std::optional<std::uint32_t>>(std::in_place))
        << "no devices is how the bus says unset";
}

TEST(Configure, RefusesToSetAndUnsetTheSameOrTwice) {
    const std::vector<std::pair<std::string, Variant>> fields{
        {"name", text("x")},
        {"gpus", number(1)},
        {"gpu-memory", text("4g")},
        {"lifetime", Variant{std::uint64_t{60}}},
        {"over-subscribable", Variant{false}}};
    for (const auto& field : fields) {
        const std::string& name = field.first;
        EXPECT_EQ(codeOf([&] { dbus::readConfigurationChange({field}, {name}); }),
                  ErrorCode::InvalidArgs)
            << name;
        EXPECT_EQ(codeOf([&] {
                      dbus::readConfigurationChange({}, {name, name});
                  }),
                  ErrorCode::InvalidArgs)
            << name;
    }
    EXPECT_EQ(codeOf([] { dbus::readConfigurationChange({}, {"id"}); }), ErrorCode::InvalidArgs);
    EXPECT_EQ(codeOf([] {
                  dbus::readConfigurationChange({{"id", text("x")}}, {});
              }),
              ErrorCode::InvalidArgs);
}

class JupyterKernelPins : public ::testing::Test {
  protected:
    core::JupyterKernel pin(const core::JupyterKernels::Found& found) {
        const core::ProcessIdentity process = dbus::foundJupyterKernel("abc", found);
        return dbus::adoptJupyterKernel(processes, "abc", process, processes.pin(process.pid),
                                        alice);
    }
    std::string refusal(const core::JupyterKernels::Found& found) {
        try {
            pin(found);
        } catch (const core::Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::NoSuchProcess);
            return error.what();
        }
        return "";
    }
    FakeProcesses processes;
};

TEST_F(JupyterKernelPins, HoldTheOneProcessThatWasFound) {
    processes.add(500, alice);
    const core::JupyterKernel jupyterKernel = pin({{500, 7}});
    EXPECT_EQ(jupyterKernel.id, "abc");
    EXPECT_EQ(jupyterKernel.process.identity, (core::ProcessIdentity{500, 7}));
    EXPECT_FALSE(jupyterKernel.process.pin->hasExited());
}

TEST_F(JupyterKernelPins, HoldWhoStartedTheJupyterKernel) {
    processes.add(500, alice)->facts.parent = 400;
    EXPECT_EQ(pin({{500, 7}}).starter.process, nullptr) << "there is no process 400";
    processes.add(400, bob);
    const core::JupyterKernel jupyterKernel = pin({{500, 7}});
    ASSERT_NE(jupyterKernel.starter.process, nullptr);
    EXPECT_EQ(jupyterKernel.starter.pid, 400U);
    EXPECT_FALSE(jupyterKernel.starter.process->hasExited());
    processes.exit(400);
    EXPECT_TRUE(jupyterKernel.starter.process->hasExited());
}

TEST_F(JupyterKernelPins, RefuseNoneTwoAndOneThatIsGone) {
    EXPECT_EQ(refusal({}), "no process of the environment's owner runs the kernel abc");
    EXPECT_NE(refusal({{500, 7}, {501, 7}}).find("processes 500 and 501 were both started"),
              std::string::npos);
    EXPECT_NE(refusal({{500, 7}}), "") << "it exited since";
    processes.add(500, alice, 8);
    EXPECT_EQ(refusal({{500, 7}}), "the process of the kernel abc has exited")
        << "its pid is another's by now";
    processes.add(501, bob);
    EXPECT_EQ(codeOf([&] { pin({{501, 7}}); }), ErrorCode::AccessDenied);
}

} // namespace
} // namespace genv::tests
