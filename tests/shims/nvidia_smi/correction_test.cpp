// SPDX-License-Identifier: LGPL-2.1-or-later
// Corrections of nvidia-smi's output where no filter is active: the layouts of its drivers, and the
// effects of other users' process names on them.
#include "tests/shims/nvidia_smi/corrected.hpp"

#include <set>

namespace genv::shims::nvidia_smi {
namespace {

const std::string table390 = R"(Sat Nov 21 20:00:00 2026
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 390.157                Driver Version: 390.157                   |
|-------------------------------+----------------------+----------------------+
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |
|===============================+======================+======================|
|   2  Tesla V100-SXM2...  Off  | 00000000:03:00.0 Off |                    0 |
| N/A   32C    P0    44W / 300W |   9034MiB / 16384MiB |     93%      Default |
+-------------------------------+----------------------+----------------------+

+-----------------------------------------------------------------------------+
| Processes:                                                       GPU Memory |
|  GPU       PID   Type   Process name                             Usage      |
|=============================================================================|
|    2      4711      C   python                                      1024MiB |
|    2      9999      C   stranger | C   | 4711                       8000MiB |
+-----------------------------------------------------------------------------+
)";

const std::string table470 = R"(Sat Nov 21 20:00:00 2026
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 470.256.02   Driver Version: 470.256.02   CUDA Version: 11.4     |
|-------------------------------+----------------------+----------------------+
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |
|                               |                      |               MIG M. |
|===============================+======================+======================|
|   2  Tesla V100-SXM2...  Off  | 00000000:03:00.0 Off |                    0 |
| N/A   32C    P0    44W / 300W |   9034MiB / 16384MiB |     93%      Default |
|                               |                      |                  N/A |
+-------------------------------+----------------------+----------------------+
                                                                               
+-----------------------------------------------------------------------------+
| Processes:                                                                  |
|  GPU   GI   CI        PID   Type   Process name                  GPU Memory |
|        ID   ID                                                   Usage      |
|=============================================================================|
|    2   N/A  N/A      4711      C   python                           1024MiB |
|    2   N/A  N/A      9999    C+G   stranger                         8000MiB |
+-----------------------------------------------------------------------------+
)";

const std::string table550 = R"(Sat Nov 21 20:00:00 2026
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   2  NVIDIA A100-SXM4-16GB          On  |   00000000:03:00.0 Off |                    0 |
| N/A   32C    P0             44W /  400W |    9034MiB /  16384MiB |     93%      Default |
|                                         |                        |                  N/A |
+-----------------------------------------+------------------------+----------------------+
                                                                                         
+-----------------------------------------------------------------------------------------+
| Processes:                                                                              |
|  GPU   GI   CI        PID   Type   Process name                              GPU Memory |
|        ID   ID                                                               Usage      |
|=========================================================================================|
|    2   N/A  N/A      4711      C   python                                       1024MiB |
|    2   N/A  N/A      9999    M+C   stranger                                     8000MiB |
+-----------------------------------------------------------------------------------------+
)";

TEST(NvidiaSmiTable, KeepsTheLayoutOfEveryDriver) {
    for (const std::string& table : {table390, table470, table550}) {
        const Corrected result = correctAs({}, table, shareOfGpu2());
        std::string expected = table;
        const std::size_t stranger = table.rfind('|', table.find("9999"));
        expected.erase(stranger, table.find('\n', stranger) + 1 - stranger);
        expected = replaced(expected, "9034MiB", "1024MiB");
        expected = replaced(expected, "16384MiB", " 3814MiB");
        EXPECT_EQ(result.text, expected);
        EXPECT_TRUE(result.notes.empty());
    }
}

TEST(NvidiaSmiTable, PassesWhatAgreesByteForByte) {
    const Corrected once = correctAs({}, table550, shareOfGpu2());
    EXPECT_EQ(correctAs({}, once.text, shareOfGpu2()).text, once.text);
    // NVML's other way of rounding.
    View view = shareOfGpu2();
    ++*view[0].processes[0].usedMemoryBytes;
    const std::string up =
        replaced(replaced(once.text, " 3814MiB", " 3815MiB"), " 1024MiB /", " 1025MiB /");
    EXPECT_EQ(correctAs({}, up, view).text, up);
}

TEST(NvidiaSmiTable, SaysThatThereIsNoProcessWhereOnlyOthersAre) {
    View view = shareOfGpu2();
    view[0].processes.clear();
    const std::string text = correctAs({}, table470, view).text;
    EXPECT_NE(text.find("====|\n|  No running processes found" + std::string(49, ' ') + "|\n+----"),
              std::string::npos)
        << text;
    EXPECT_EQ(text.find("9999"), std::string::npos);
    EXPECT_NE(text.find("|      0MiB /  3814MiB |"), std::string::npos) << text;
}

TEST(NvidiaSmiTable, LeavesTheTotalOfAWholeDevice) {
    View view = shareOfGpu2();
    view[0].shareBytes.reset();
    const std::string text = correctAs({}, table470, view).text;
    EXPECT_NE(text.find("|   1024MiB / 16384MiB |"), std::string::npos) << text;
}

TEST(NvidiaSmiTable, ShowsNoNumberThatTheDriverDoesNotTell) {
    View view = shareOfGpu2();
    view[0].processes[0].usedMemoryBytes.reset();
    const Corrected result = correctAs({}, table470, view);
    EXPECT_NE(result.text.find("|       N/A /  3814MiB |"), std::string::npos) << result.text;
    ASSERT_EQ(result.notes.size(), 1U);
    EXPECT_NE(result.notes[0].find("GPU 2"), std::string::npos);
}

TEST(NvidiaSmiTable, LeavesOutGpusOfOthers) {
    const std::string row =
        R"(|   0  Tesla V100-SXM2...  Off  | 00000000:01:00.0 Off |                    0 |
| N/A   32C    P0    44W / 300W |   5000MiB / 16384MiB |     50%      Default |
|                               |                      |                  N/A |
+-------------------------------+----------------------+----------------------+
)";
    const std::string first = "|   2  Tesla";
    const std::string expected = correctAs({}, table470, shareOfGpu2()).text;
    std::string before = table470;
    before.insert(before.find(first), row);
    EXPECT_EQ(correctAs({}, before, shareOfGpu2()).text, expected);
    std::string after = table470;
    after.insert(after.find("                                                        "), row);
    EXPECT_EQ(correctAs({}, after, shareOfGpu2()).text, expected);
}

TEST(NvidiaSmiTable, ShowsAttachedMigInstances) {
    const std::string table =
        R"(| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |
|=========================================+========================+======================|
|   1  NVIDIA A100-SXM4-40GB          On  |   00000000:03:00.0 Off |                   On |
| N/A   32C    P0             44W /  400W |      95MiB /  40960MiB |     N/A      Default |
|                                         |                        |              Enabled |
+-----------------------------------------+------------------------+----------------------+
                                                                                         
+-----------------------------------------------------------------------------------------+
| MIG devices:                                                                            |
+------------------+----------------------------------+-----------+-----------------------+
| GPU  GI  CI  MIG |                     Memory-Usage |        Vol|        Shared         |
|      ID  ID  Dev |                       BAR1-Usage | SM     Unc| CE ENC  DEC  OFA  JPG |
|                  |                                  |        ECC|                       |
|==================+==================================+===========+=======================|
|  1    7   0   0  |              12MiB /  4864MiB    | 14      0 |  1   0    0    0    0 |
|                  |               0MiB /  8191MiB    |           |                       |
+------------------+----------------------------------+-----------+-----------------------+
|  1    8   0   1  |              70MiB /  4864MiB    | 14      0 |  1   0    0    0    0 |
|                  |               2MiB /  8191MiB    |           |                       |
+------------------+----------------------------------+-----------+-----------------------+
|  1    9   0   2  |              13MiB /  4864MiB    | 14      0 |  1   0    0    0    0 |
|                  |               0MiB /  8191MiB    |           |                       |
+------------------+----------------------------------+-----------+-----------------------+
                                                                                         
+-----------------------------------------------------------------------------------------+
| Processes:                                                                              |
|  GPU   GI   CI        PID   Type   Process name                              GPU Memory |
|=========================================================================================|
|    1    7    0      9999      C   stranger                                        10MiB |
|    1    8    0      4711      C   python                                          50MiB |
+-----------------------------------------------------------------------------------------+
)";
    const View view{{5, "MIG-b", 4864 * mib, std::nullopt, {{4711, 50 * mib}}}};
    const std::vector<ListedGpu> listing{{0, "GPU-a", {}},
                                         {1, "GPU-b", {{0, "MIG-a"}, {1, "MIG-b"}, {2, "MIG-c"}}}};
    const Corrected result = correctAs({}, table, view, listing);
    std::string expected = table;
    const auto cut = [&](const std::string& from, int lines) {
        const std::size_t begin = expected.find(from);
        std::size_t end = begin;
        for (int i = 0; i < lines; ++i)
            end = expected.find('\n', end) + 1;
        expected.erase(begin, end - begin);
    };
    cut("|  1    7   0", 3);
    cut("|  1    9   0", 3);
    cut("|    1    7    0      9999", 1);
    expected = replaced(expected, "   95MiB /  40960MiB", "   50MiB /   4864MiB");
    expected = replaced(expected, "70MiB /  4864MiB ", "50MiB /  4864MiB ");
    EXPECT_EQ(result.text, expected);
    EXPECT_TRUE(result.notes.empty());
}

TEST(NvidiaSmiTable, IsNotMisledByNamesOfProcesses) {
    const std::string honest = correctAs({}, table470, shareOfGpu2()).text;
    for (const std::string& name :
         {std::string("x\n| NVIDIA-SMI 470"), std::string("x\n+-----+"), std::string("x\n|====|"),
          std::string("x\n| MIG devices:"), std::string("x\n| Processes:"), std::string("\x1b[2J"),
          std::string("x|y|z"), std::string("x\n")}) {
        // A foreign process with such a name before the user's own row, and another one after it.
        std::string hostile = table470;
        hostile.insert(hostile.find("|    2   N/A  N/A      4711"),
                       "|    2   N/A  N/A      8888      C   " + name + "    10MiB |\n");
        const std::string text = correctAs({}, hostile, shareOfGpu2()).text;
        EXPECT_EQ(text.find("8888"), std::string::npos) << name;
        EXPECT_EQ(text.find("9999"), std::string::npos) << name;
        EXPECT_NE(text.find("|    2   N/A  N/A      4711      C   python"), std::string::npos)
            << name;
        if (name.find('\n') == std::string::npos) {
            EXPECT_EQ(text, honest) << name;
        }
    }
}

TEST(NvidiaSmiTable, SaysSoWhenTheLayoutIsNotKnown) {
    const Corrected result =
        correctAs({}, "GPU 2: 9034 MiB of 16384 MiB\n[gpu 2] 9034MiB\n", shareOfGpu2());
    EXPECT_EQ(result.text, "GPU 2: 9034 MiB of 16384 MiB\n[gpu 2] 9034MiB\n");
    ASSERT_EQ(result.notes.size(), 1U);
    EXPECT_NE(result.notes[0].find("whole machine"), std::string::npos);
}

TEST(NvidiaSmiTable, CorrectsEachTableOfALoop) {
    const std::string once = correctAs({}, table550, shareOfGpu2()).text;
    EXPECT_EQ(correctAs({"-l", "1"}, table550 + table550, shareOfGpu2()).text, once + once);
}

TEST(NvidiaSmiList, HasWhatIsAttached) {
    const std::string list = "GPU 0: NVIDIA A100 (UUID: GPU-a)\n"
                             "GPU 1: NVIDIA A100 (UUID: GPU-b)\n"
                             "  MIG 1g.5gb      Device  0: (UUID: MIG-a)\n"
                             "  MIG 1g.5gb      Device  1: (UUID: MIG-b)\n"
                             "GPU 2: NVIDIA A100 (UUID: GPU-c)\n";
    View view = shareOfGpu2();
    view.push_back({5, "MIG-b", gpuBytes, std::nullopt, {}});
    EXPECT_EQ(correctAs({"-L"}, list, view, parseListing(list)).text,
              "GPU 1: NVIDIA A100 (UUID: GPU-b)\n"
              "  MIG 1g.5gb      Device  1: (UUID: MIG-b)\n"
              "GPU 2: NVIDIA A100 (UUID: GPU-c)\n");
}

TEST(NvidiaSmiCsv, FindsItsFieldsInAnyOrder) {
    const Corrected result = correctAs(
        {"--query-gpu=memory.free,name,memory.used,index, memory.total ,count", "--format=csv"},
        "memory.free [MiB], name, memory.used [MiB], index, memory.total [MiB], count\n"
        "7000 MiB, NVIDIA A100, 9034 MiB, 2, 16384 MiB, 4\n"
        "16000 MiB, NVIDIA A100, 384 MiB, 3, 16384 MiB, 4\n"
        "16000 MiB, NVIDIA A100, 384 MiB, 1, 16384 MiB, 4\n",
        twoGpus());
    EXPECT_EQ(result.text,
              "memory.free [MiB], name, memory.used [MiB], index, memory.total [MiB], count\n"
              "2790 MiB, NVIDIA A100, 1024 MiB, 2, 3814 MiB, 2\n"
              "16000 MiB, NVIDIA A100, 0 MiB, 3, 16384 MiB, 2\n");
}

TEST(NvidiaSmiCsv, TakesOffTheFieldThatItAddedItself) {
    EXPECT_EQ(correctAs({"--query-gpu=memory.used", "--format=csv,noheader,nounits"},
                        "9034, GPU-c\n384, GPU-d\n", twoGpus())
                  .text,
              "1024\n0\n");
    EXPECT_EQ(correctAs({"--query-gpu", "memory.used", "--format", "csv"},
                        "memory.used [MiB], uuid\n[N/A], GPU-c\n", twoGpus())
                  .text,
              "memory.used [MiB]\n[N/A]\n");
    const std::string error = "Field \"colour\" is not a valid field to query.\n\n";
    EXPECT_EQ(correctAs({"--query-gpu=colour", "--format=csv"}, error, twoGpus()).text, error);
}

TEST(NvidiaSmiCsv, HasTheEnvironmentsProcesses) {
    EXPECT_EQ(correctAs({"--query-compute-apps=process_name,pid,used_memory", "--format=csv"},
                        "process_name, pid, used_gpu_memory [MiB]\n"
                        "python, 4711, 1024 MiB\n"
                        "my, own, 4711, 5 MiB\n"
                        "a, 4711, b, 9999, 8000 MiB\n"
                        "c\n9999, 4712, 1 MiB\n",
                        shareOfGpu2())
                  .text,
              "process_name, pid, used_gpu_memory [MiB]\n"
              "python, 4711, 1024 MiB\n"
              "my, own, 4711, 5 MiB\n");
    EXPECT_EQ(correctAs({"--query-compute-apps=used_memory", "--format=csv,noheader"},
                        "8000 MiB, 9999\n1024 MiB, 4711\n", shareOfGpu2())
                  .text,
              "1024 MiB\n");
    EXPECT_EQ(correctAs({"--query-accounted-apps=pid,gpu_name", "--format=csv,noheader"},
                        "1, NVIDIA A100\n4711, NVIDIA A100\n", shareOfGpu2())
                  .text,
              "4711, NVIDIA A100\n");
}

const std::string report = R"(
==============NVSMI LOG==============

Timestamp                                 : Sat Nov 21 20:00:00 2026
Driver Version                            : 550.54.15

Attached GPUs                             : 4
GPU 00000000:03:00.0
    Product Name                          : NVIDIA A100
    GPU UUID                              : GPU-c
    FB Memory Usage
        Total                             : 16384 MiB
        Reserved                          : 350 MiB
        Used                              : 9034 MiB
        Free                              : 7000 MiB
    BAR1 Memory Usage
        Total                             : 16384 MiB
        Used                              : 5 MiB
        Free                              : 16379 MiB
    Processes
        GPU instance ID                   : N/A
        Compute instance ID               : N/A
        Process ID                        : 9999
            Type                          : C
            Name                          : stranger
            Used GPU Memory               : 8000 MiB
        GPU instance ID                   : N/A
        Compute instance ID               : N/A
        Process ID                        : 4711
            Type                          : C
            Name                          : python
            Used GPU Memory               : 1024 MiB
        GPU instance ID                   : N/A
        Compute instance ID               : N/A
        Process ID                        : 9997
            Type                          : C
            Name                          : another
            Used GPU Memory               : 80 MiB

GPU 00000000:04:00.0
    Product Name                          : NVIDIA A100
    GPU UUID                              : GPU-d
    FB Memory Usage
        Total                             : 16384 MiB
        Reserved                          : 350 MiB
        Used                              : 34 MiB
        Free                              : 16000 MiB
    Processes
        Process ID                        : 9998
            Type                          : C
            Name                          : stranger
            Used GPU Memory               : 30 MiB

)";

std::string correctedReport() {
    std::string expected = replaced(report, "Attached GPUs                             : 4",
                                    "Attached GPUs                             : 2");
    expected = replaced(expected, ": 16384 MiB", ": 3814 MiB");
    expected = replaced(expected, ": 9034 MiB", ": 1024 MiB");
    expected = replaced(expected, ": 7000 MiB", ": 2790 MiB");
    expected = without(expected, R"(        GPU instance ID                   : N/A
        Compute instance ID               : N/A
        Process ID                        : 9999
            Type                          : C
            Name                          : stranger
            Used GPU Memory               : 8000 MiB
)");
    expected = without(expected, R"(        GPU instance ID                   : N/A
        Compute instance ID               : N/A
        Process ID                        : 9997
            Type                          : C
            Name                          : another
            Used GPU Memory               : 80 MiB
)");
    expected = replaced(expected, ": 34 MiB", ": 0 MiB");
    return replaced(expected, R"(    Processes
        Process ID                        : 9998
            Type                          : C
            Name                          : stranger
            Used GPU Memory               : 30 MiB
)",
                    "    Processes                             : None\n");
}

TEST(NvidiaSmiReport, IsCorrectedAsText) {
    const Corrected result = correctAs({"-q"}, report, twoGpus());
    EXPECT_EQ(result.text, correctedReport());
    EXPECT_TRUE(result.notes.empty());
    EXPECT_EQ(correctAs({"-q"}, result.text, twoGpus()).text, result.text);
}

TEST(NvidiaSmiReport, NeedsNoUuidWhereOnlySomeSectionsAreShown) {
    const auto cut = [](const std::string& text) {
        return without(without(text, "    GPU UUID                              : GPU-c\n"),
                       "    GPU UUID                              : GPU-d\n");
    };
    EXPECT_EQ(correctAs({"-q", "-d", "MEMORY,PIDS"}, cut(report), twoGpus()).text,
              cut(correctedReport()));
    const Corrected unknown =
        correctAs({"-q", "-d", "MEMORY"},
                  replaced(cut(report), "GPU 00000000:03", "GPU 00000000:09"), twoGpus());
    EXPECT_FALSE(unknown.notes.empty());
}

TEST(NvidiaSmiReport, IsNotMisledByNamesOfProcesses) {
    for (const std::string& name :
         {std::string("x\n    FB Memory Usage"), std::string("x\nGPU 00000000:04:00.0"),
          std::string("x\n\n====\n    Processes"), std::string("a : b")}) {
        const std::string text =
            correctAs({"-q"}, replaced(report, ": stranger", ": " + name), twoGpus()).text;
        EXPECT_EQ(text.find("9999"), std::string::npos) << name;
        EXPECT_EQ(text.find("9998"), std::string::npos) << name;
        EXPECT_NE(text.find(": 4711\n            Type"), std::string::npos) << name;
    }
}

TEST(NvidiaSmiReport, ShowsAttachedMigInstances) {
    const std::string text = R"(Attached GPUs                             : 2
GPU 00000000:03:00.0
    MIG Mode
        Current                           : Enabled
    MIG Device
        Index                             : 0
        GPU Instance ID                   : 7
        FB Memory Usage
            Total                         : 4864 MiB
            Used                          : 12 MiB
            Free                          : 4852 MiB
    MIG Device
        Index                             : 1
        GPU Instance ID                   : 8
        FB Memory Usage
            Total                         : 4864 MiB
            Used                          : 70 MiB
            Free                          : 4794 MiB
    GPU UUID                              : GPU-c
    FB Memory Usage
        Total                             : 40960 MiB
        Used                              : 82 MiB
        Free                              : 40878 MiB
)";
    const View view{{5, "MIG-b", 4864 * mib, std::nullopt, {{4711, 50 * mib}}}};
    const std::vector<ListedGpu> listing{{2, "GPU-c", {{0, "MIG-a"}, {1, "MIG-b"}}}};
    EXPECT_EQ(correctAs({"-q"}, text, view, listing).text,
              R"(Attached GPUs                             : 1
GPU 00000000:03:00.0
    MIG Mode
        Current                           : Enabled
    MIG Device
        Index                             : 1
        GPU Instance ID                   : 8
        FB Memory Usage
            Total                         : 4864 MiB
            Used                          : 50 MiB
            Free                          : 4794 MiB
    GPU UUID                              : GPU-c
    FB Memory Usage
        Total                             : 4864 MiB
        Used                              : 50 MiB
        Free                              : 4814 MiB
)");
}

TEST(NvidiaSmiMonitor, HasTheEnvironmentsProcesses) {
    const std::string head = "# gpu         pid  type     sm    mem    command\n"
                             "# Idx           #   C/G      %      %    name\n";
    const std::string sample = "    0        9995     C      1      1    stranger\n"
                               "    2        9999     C      1      1    stranger\n"
                               "    2        4711     C     93      5    python\n"
                               "    3        9998     C      1      1    stranger\n"
                               "    3        9996     C      1      1    stranger\n";
    const std::string expected = "    2        4711     C     93      5    python\n"
                                 "    3           -     -      -      -    -       \n";
    EXPECT_EQ(correctAs({"pmon"}, head + sample + sample, twoGpus()).text,
              head + expected + expected);
}

TEST(NvidiaSmiMonitor, HasTheEnvironmentsMemory) {
    const std::string head = "#Time        gpu    pwr     fb   bar1 \n"
                             "#HH:MM:SS    Idx      W     MB     MB \n";
    EXPECT_EQ(correctAs({"dmon", "-s", "m", "-o", "T"},
                        head + " 20:00:00      0     44   9034      5 \n"
                               " 20:00:00      2     44  19034      5 \n"
                               " 20:00:00      3      -      -      5 \n",
                        twoGpus())
                  .text,
              head + " 20:00:00      2     44   1024      5 \n"
                     " 20:00:00      3      -      -      5 \n");
    const Corrected unknown = correctAs({"dmon"}, "fb of 2 is 9034\n", twoGpus());
    EXPECT_EQ(unknown.text, "fb of 2 is 9034\n");
    EXPECT_EQ(unknown.notes.size(), 1U);
}

TEST(NvidiaSmiStream, PassesALineWithoutEndAndGoesOn) {
    std::set<std::string> notes;
    const Seen seen(shareOfGpu2(), {});
    const auto corrector = makeListCorrector(
        {[&] { return &seen; }, {}, [&](const std::string& note) { notes.insert(note); }});
    LineStream stream(*corrector);
    std::string out;
    const std::string endless(3U << 20U, 'x');
    stream.take(endless, out);
    stream.take("\nGPU 0: A (UUID: GPU-a)\nGPU 2: A (UUID: GPU-c)\nend", out);
    stream.finish(out);
    EXPECT_EQ(out.substr(endless.size()), "\nGPU 2: A (UUID: GPU-c)\nend");
    EXPECT_EQ(notes, std::set<std::string>{"a line longer than 1 MiB was passed on unchanged"});
}

TEST(NvidiaSmiStream, PassesEverythingOnceTheServiceHasGone) {
    const auto corrector =
        makeTableCorrector({[] { return nullptr; }, {}, [](const std::string&) { FAIL(); }});
    LineStream stream(*corrector);
    std::string out;
    stream.take(table470, out);
    stream.finish(out);
    EXPECT_EQ(out, table470);
}

} // namespace
} // namespace genv::shims::nvidia_smi
