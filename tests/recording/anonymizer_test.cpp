// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/recording/anonymizer.hpp"

#include <gtest/gtest.h>

using genv::recording::Anonymizer;
using nlohmann::json;

namespace {

constexpr const char* uuid = "4c1f3d2a-9f1e-4b60-8a7b-0123456789ab";
constexpr const char* replacedUuid = "00000000-0000-0000-0000-000000000001";

// Answers that name these processes.
json answersWith(const json& names) {
    json answers{{"system", json::object()}, {"devices", json::array()}};
    for (const auto& [pid, name] : names.items())
        answers["system"]["nvmlSystemGetProcessName"][pid] = {{"result", 0}, {"value", name}};
    return answers;
}

TEST(Anonymizer, GivesAUuidOneReplacementInEveryForm) {
    Anonymizer anonymizer("");
    const std::string text =
        std::string("GPU-") + uuid + " MIG-GPU-" + uuid + "/1/0 (UUID: MIG-" + uuid + ")\n";
    EXPECT_EQ(anonymizer.replacedText(text), std::string("GPU-") + replacedUuid + " MIG-GPU-" +
                                                 replacedUuid + "/1/0 (UUID: MIG-" + replacedUuid +
                                                 ")\n");
    EXPECT_EQ(anonymizer.replacedText("00000000-0000-0000-0000-000000000000"),
              "00000000-0000-0000-0000-000000000000");
    EXPECT_EQ(anonymizer.findOriginal(std::string("x ") + uuid), uuid);
    EXPECT_EQ(anonymizer.findOriginal("4c1f3d2a9f1e4b608a7b0123456789ab"), uuid);
    EXPECT_EQ(anonymizer.findOriginal(replacedUuid), std::nullopt);
}

TEST(Anonymizer, ReplacesIdsOfBoardsInReportsAndElsewhere) {
    Anonymizer anonymizer("");
    const std::string report = "\t\t<serial>1650923012345</serial>\n"
                               "\t\t<pdi>0xABCDEF0123456789</pdi>\n"
                               "\t\t<board_id>0x6</board_id>\n"
                               "\t\t<host_id>N/A</host_id>\n"
                               "\t\t<gpu_fabric_guid>0x0000000000000000</gpu_fabric_guid>\n"
                               "    Serial Number           : 1650923012345\n"
                               "    GPU PDI                 : 0xABCDEF0123456789\n"
                               "    Board ID                : 0x6\n"
                               "    Minor Number            : 6\n"
                               "0, 1650923012345, x1650923012345\n";
    anonymizer.learnOutput(report);
    EXPECT_EQ(anonymizer.replacedText(report),
              "\t\t<serial>1000000000001</serial>\n"
              "\t\t<pdi>0x1000000000000002</pdi>\n"
              "\t\t<board_id>0x1</board_id>\n"
              "\t\t<host_id>N/A</host_id>\n"
              "\t\t<gpu_fabric_guid>0x0000000000000000</gpu_fabric_guid>\n"
              "    Serial Number           : 1000000000001\n"
              "    GPU PDI                 : 0x1000000000000002\n"
              "    Board ID                : 0x1\n"
              "    Minor Number            : 6\n"
              "0, 1000000000001, x1650923012345\n");
}

TEST(Anonymizer, KeepsTheFormOfTablesWithNamesOfProcesses) {
    Anonymizer anonymizer("");
    anonymizer.learn(answersWith({{"527", "/home/ann/bin/train --secret"}, {"6", "p"}}));
    for (const auto& [line, expected] : std::vector<std::pair<std::string, std::string>>{
             {"|    0   N/A  N/A             527      C   /home/ann/bin/train --secret  1MiB |",
              "|    0   N/A  N/A             527      C   /dddd/ddd/ddd/pppp1 aaaaaaaa  1MiB |"},
             {"|    0   N/A  N/A             527      C   ...bin/train --secret         1MiB |",
              "|    0   N/A  N/A             527      C   ...ddd/pppp1 aaaaaaaa         1MiB |"},
             {"|    0   N/A  N/A             527      C   /home/ann...                  1MiB |",
              "|    0   N/A  N/A             527      C   /dddd/ddd...                  1MiB |"},
             {"    0        527     C      3      2      -      -    train          ",
              "    0        527     C      3      2      -      -    pppp1          "},
             {"    0        527     C      3      2      -      -    tra            ",
              "    0        527     C      3      2      -      -    ppp            "},
             {"    Name             : /home/ann/bin/train --secret",
              "    Name             : /dddd/ddd/ddd/pppp1 aaaaaaaa"},
             {"    Process ID       : 527", "    Process ID       : 527"},
             {"| GPU 527 has no train |x", "| GPU 527 has no train |x"}})
        EXPECT_EQ(anonymizer.replacedText(line), expected);
}

TEST(Anonymizer, FindsProcessesThatOnlyNvidiaSmiNames) {
    for (const std::string row :
         {"|    0   N/A  N/A           77      C   /home/ann/late           1MiB |",
          "|    0           77      C   /home/ann/late           1MiB |",
          "GPU-4c1f3d2a-9f1e-4b60-8a7b-0123456789ab, 77, /home/ann/late, 1 MiB, x",
          "    Process ID                        : 77\n    Name       : /home/ann/late",
          "<pid>77</pid>\n<process_name>/home/ann/late</process_name>"}) {
        Anonymizer anonymizer("");
        anonymizer.learn(answersWith(json::object()));
        anonymizer.learnOutput(row);
        const std::string text = anonymizer.replacedText(row);
        EXPECT_EQ(text.find("late"), std::string::npos) << text;
        EXPECT_EQ(text.size(), row.size());
    }
}

TEST(Anonymizer, KeepsWhatNamesNobody) {
    Anonymizer anonymizer("");
    anonymizer.learn(answersWith({{"1", "nvidia-cuda-mps-server"}, {"2", "[Not Found]"}}));
    const std::string rows = "    0          1     C      -    nvidia-cuda-mps\n"
                             "    0          2     C      -    -\n";
    EXPECT_EQ(anonymizer.replacedText(rows), rows);
}

TEST(Anonymizer, ReplacesTheNameOfTheHostAsAWord) {
    Anonymizer anonymizer("gpu7");
    EXPECT_EQ(anonymizer.replacedText("gpu7: gpu70 on gpu7.example"),
              "host: gpu70 on host.example");
}

TEST(Anonymizer, ChangesNothingInWhatItReplacedBefore) {
    json answers = answersWith({{"527", "/home/ann/train x"}, {"9", "python3"}});
    answers["devices"].push_back(
        {{"answers",
          {{"nvmlDeviceGetUUID", {{"result", 0}, {"value", std::string("GPU-") + uuid}}},
           {"nvmlDeviceGetSerial", {{"result", 0}, {"value", "1650923012345"}}}}}});
    const std::string text = "\t<pdi>0xABCDEF0123456789</pdi>\n\t<board_id>0x1700</board_id>\n"
                             "    0        527     C      3      2      -      -    train\n";
    const auto replace = [](const json& from, const std::string& output) {
        Anonymizer anonymizer("");
        anonymizer.learn(from);
        anonymizer.learnOutput(output);
        return std::pair{anonymizer.replacedAnswers(from), anonymizer.replacedText(output)};
    };
    const auto once = replace(answers, text);
    EXPECT_NE(once.first, answers);
    EXPECT_EQ(replace(once.first, once.second), once);
}

} // namespace
