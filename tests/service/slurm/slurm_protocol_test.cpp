// SPDX-License-Identifier: LGPL-2.1-or-later
// The lines between genvd and genv-slurm: written lines are parsed again, and other lines are
// refused.
#include "service/slurm/slurm_protocol.hpp"

#include <gtest/gtest.h>

namespace genv::service {
namespace {

constexpr core::WallTime protocolEnd{std::chrono::seconds{1'795'574'158}};

TEST(SlurmProtocol, ReadsTheRequestsThatItWrites) {
    for (const SlurmRequest& request :
         {SlurmRequest(SlurmListDevices{}), SlurmRequest(SlurmSetEnd{12, protocolEnd}),
          SlurmRequest(SlurmCancel{4'294'967'295}), SlurmRequest(SlurmRequeue{1}),
          SlurmRequest(SlurmFindJob{{UINT64_MAX}})}) {
        const std::string line = encodeSlurmRequest(request);
        EXPECT_EQ(decodeSlurmRequest(line), request) << line;
        EXPECT_LT(line.size() + 1, maxSlurmRequest);
    }
    EXPECT_EQ(encodeSlurmRequest(SlurmSetEnd{12, protocolEnd}),
              R"({"end":1795574158,"job":12,"request":"set-end"})");
}

TEST(SlurmProtocol, RefusesOtherRequests) {
    for (const char* line : {"",
                             "{",
                             "[]",
                             "7",
                             R"({"request":"reboot"})",
                             R"({"request":["cancel"],"job":1})",
                             R"({"request":"cancel"})",
                             R"({"request":"cancel","job":0})",
                             R"({"request":"cancel","job":4294967296})",
                             R"({"request":"cancel","job":-1})",
                             R"({"request":"cancel","job":"1"})",
                             R"({"request":"cancel","job":1.5})",
                             R"({"request":"cancel","job":1,"argv":["-f"]})",
                             R"({"request":"list-devices","job":1})",
                             R"({"request":"set-end","job":1})",
                             R"({"request":"set-end","end":1})",
                             R"({"request":"set-end","job":1,"end":1,"user":"bob"})",
                             R"({"request":"set-end","job":1,"end":0})",
                             R"({"request":"set-end","job":1,"end":253402300800})",
                             R"({"request":"set-end","job":1,"end":"now"})",
                             R"({"request":"requeue","job":null})",
                             R"({"request":"requeue","job":1,"end":1})",
                             R"({"request":"find-job"})",
                             R"({"request":"find-job","sluid":0})",
                             R"({"request":"find-job","sluid":-1})",
                             R"({"request":"find-job","sluid":1,"job":1})",
                             R"({"request":"find-job","sluid":18446744073709551616})",
                             R"({"request":"find-job","sluid":"sEKNKTV3WPV500"})"})
        EXPECT_THROW(decodeSlurmRequest(line), SlurmProtocolError) << line;
}

TEST(SlurmProtocol, ReadsTheAnswersThatItWrites) {
    const std::vector<core::SlurmDevice> devices{{0, {195, 2}}, {1, {195, 0}}};
    const auto read = decodeSlurmAnswer(encodeSlurmAnswer(devices));
    const auto& list = std::get<std::vector<core::SlurmDevice>>(read);
    ASSERT_EQ(list.size(), 2U);
    EXPECT_EQ(list[1].number, 1U);
    EXPECT_EQ(list[1].node, (core::DeviceNode{195, 0}));
    EXPECT_TRUE(
        std::holds_alternative<SlurmDone>(decodeSlurmAnswer(encodeSlurmAnswer(SlurmDone{}))));
    EXPECT_EQ(std::get<SlurmFound>(decodeSlurmAnswer(encodeSlurmAnswer(SlurmFound{12}))).job, 12U);
    EXPECT_EQ(std::get<core::SlurmFailure>(
                  decodeSlurmAnswer(encodeSlurmAnswer(core::SlurmFailure{"no \"slurmd\""})))
                  .reason,
              "no \"slurmd\"");
}

TEST(SlurmProtocol, RefusesOtherAnswers) {
    const std::string tooLong = R"({"error":")" + std::string(maxSlurmReason + 1, 'x') + "\"}";
    for (const std::string& line :
         {std::string(),
          std::string("null"),
          std::string("{}"),
          std::string(R"({"done":false})"),
          std::string(R"({"done":true,"job":1})"),
          std::string(R"({"error":""})"),
          std::string(R"({"done":true,"error":7})"),
          std::string(R"({"done":true,"x":1})"),
          std::string("{\"error\":\"a\\u001b[0m\"}"),
          std::string(R"({"error":7})"),
          tooLong,
          std::string(R"({"error":"x","job":1})"),
          std::string(R"({"devices":[{"number":0,"node":[195,0],"uuid":"x"}]})"),
          std::string(R"({"devices":{}})"),
          std::string(R"({"devices":[{"number":0}]})"),
          std::string(R"({"devices":[{"number":1,"node":[195,0]}]})"),
          std::string(R"({"devices":[{"number":0,"node":[195]}]})"),
          std::string(R"({"devices":[{"number":0,"node":[4096,0]}]})"),
          std::string(R"({"devices":[{"number":0,"node":[[1],0]}]})"),
          std::string(R"({"devices":[],"error":"x"})"),
          std::string(R"({"job":0})"),
          std::string(R"({"job":"12"})"),
          std::string(R"({"job":12,"done":true})")})
        EXPECT_THROW(decodeSlurmAnswer(line), SlurmProtocolError) << line;
}

} // namespace
} // namespace genv::service
