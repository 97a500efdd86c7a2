// SPDX-License-Identifier: LGPL-2.1-or-later
// Corrections of -q -x, and of XML that is not well-formed.
#include "tests/shims/nvidia_smi/corrected.hpp"

namespace genv::shims::nvidia_smi {
namespace {

const std::string xml = R"(<?xml version="1.0" ?>
<nvidia_smi_log>
	<attached_gpus>4</attached_gpus>
	<gpu id="00000000:03:00.0">
		<mig_devices>
			<mig_device>
				<index>0</index>
				<fb_memory_usage>
					<total>4864 MiB</total>
				</fb_memory_usage>
			</mig_device>
		</mig_devices>
		<uuid>GPU-c</uuid>
		<fb_memory_usage>
			<total>16384 MiB</total>
			<reserved>350 MiB</reserved>
			<used>9034 MiB</used>
			<free>7000 MiB</free>
		</fb_memory_usage>
		<bar1_memory_usage>
			<total>16384 MiB</total>
		</bar1_memory_usage>
		<processes>
			<process_info>
				<gpu_instance_id>N/A</gpu_instance_id>
				<pid>9999</pid>
				<process_name>stranger
				<pid>4711</pid>
				</process_name>
				<used_memory>8000 MiB</used_memory>
			</process_info>
			<process_info>
				<pid>4711</pid>
				<process_name>python</process_name>
				<used_memory>1024 MiB</used_memory>
			</process_info>
		</processes>
	</gpu>
</nvidia_smi_log>
)";

TEST(NvidiaSmiXml, IsCorrected) {
    const Corrected result = correctAs({"-q", "-x"}, xml, shareOfGpu2());
    std::string expected = replaced(xml, "<attached_gpus>4", "<attached_gpus>1");
    expected = without(expected, R"(			<mig_device>
				<index>0</index>
				<fb_memory_usage>
					<total>4864 MiB</total>
				</fb_memory_usage>
			</mig_device>
)");
    expected = replaced(expected, "16384 MiB", "3814 MiB");
    expected = replaced(expected, "9034 MiB", "1024 MiB");
    expected = replaced(expected, "7000 MiB", "2790 MiB");
    const std::size_t stranger = expected.find("\t\t\t<process_info>");
    expected.erase(stranger, expected.find("\t\t\t<process_info>", stranger + 1) - stranger);
    EXPECT_EQ(result.text, expected);
    EXPECT_EQ(correctAs({"-x", "-q"}, result.text, shareOfGpu2()).text, result.text);
}

TEST(NvidiaSmiXml, LeavesOutAProcessThatDoesNotEnd) {
    const std::string endless = replaced(xml, "<process_name>stranger",
                                         "<process_name>" + std::string(900000, 'x') + "\n" +
                                             std::string(900000, 'y') + "\n");
    const Corrected result = correctAs({"-q", "-x"}, endless, shareOfGpu2());
    EXPECT_EQ(result.text, correctAs({"-q", "-x"}, xml, shareOfGpu2()).text);
    EXPECT_EQ(result.notes.size(), 1U);
}

// Returns the report of a machine with the rows of these processes.
std::string xmlWithProcesses(const std::string& processes) {
    return replaced(xml, "\t\t<processes>\n", "\t\t<processes>\n" + processes);
}

TEST(NvidiaSmiXml, IsCorrectedAnewInEachDocumentOfALoop) {
    const std::string once = correctAs({"-q", "-x"}, xml, shareOfGpu2()).text;
    const Corrected twice = correctAs({"-q", "-x", "-l", "1"}, xml + "\n" + xml, shareOfGpu2());
    EXPECT_EQ(twice.text, once + "\n" + once);
    EXPECT_TRUE(twice.notes.empty());
}

TEST(NvidiaSmiXml, IsCorrectedHoweverItsLinesAreBroken) {
    const std::string stranger = "<process_info><pid>9998</pid></process_info>";
    EXPECT_EQ(
        correctAs({"-q", "-x"}, xmlWithProcesses("\t\t\t" + stranger + "\n"), shareOfGpu2()).text,
        correctAs({"-q", "-x"}, xml, shareOfGpu2()).text);
    const Corrected result = correctAs(
        {"-q", "-x"},
        "<log><attached_gpus>\n4</attached_gpus><gpu\nid='00000000:03:00.0'><uuid>GPU-c</uuid>"
        "<fb_memory_usage><used>9034 MiB\n</used></fb_memory_usage>" +
            stranger + "</gpu></log>\n",
        shareOfGpu2());
    EXPECT_EQ(result.text,
              "<log><attached_gpus>1</attached_gpus><gpu\nid='00000000:03:00.0'><uuid>GPU-c</uuid>"
              "<fb_memory_usage><used>1024 MiB</used></fb_memory_usage></gpu></log>\n");
}

TEST(NvidiaSmiXml, PassesBytesThatAreNotUtf8) {
    const std::string own =
        replaced(xml, "<process_name>python", "<process_name>p\xff\xc3th\xf6n &amp;");
    const Corrected result = correctAs({"-q", "-x"}, own, shareOfGpu2());
    EXPECT_NE(result.text.find("<process_name>p\xff\xc3th\xf6n &amp;"), std::string::npos);
    EXPECT_TRUE(result.notes.empty());
}

TEST(NvidiaSmiXml, TakesTheNameOfAProcessForTextWhateverItIs) {
    for (const std::string name : {"</process_info>", "a & b < c", "\x1b[2J\x07", "]]>", "<!--",
                                   "a\n<pid>4711</pid>\n</process_info>\n"}) {
        const std::string own = replaced(xml, "<process_name>python", "<process_name>" + name);
        const std::string text = replaced(own, "<process_name>stranger", "<process_name>" + name);
        const Corrected result = correctAs({"-q", "-x"}, text, shareOfGpu2());
        EXPECT_EQ(result.text, correctAs({"-q", "-x"}, own, shareOfGpu2()).text) << name;
        EXPECT_NE(result.text.find("<process_name>" + name + "</process_name>"), std::string::npos)
            << name;
        EXPECT_EQ(result.text.find("9999"), std::string::npos) << name;
        EXPECT_TRUE(result.notes.empty()) << name;
    }
}

TEST(NvidiaSmiXml, PassesWhatTheToolSaysOutsideOfAReport) {
    EXPECT_EQ(correctAs({"-q", "-x"}, "No devices were found\n", twoGpus()).text,
              "No devices were found\n");
}

TEST(NvidiaSmiXml, LeavesOutAProcessWithAnothersWithinIt) {
    // The effect of two names of one user's processes on the rows between them.
    const Corrected result = correctAs({"-q", "-x"},
                                       xmlWithProcesses("<process_info><pid>4711</pid>\n"
                                                        "<process_info>\n<pid>9998</pid>\n"
                                                        "<process_name>secret</process_name>\n"
                                                        "</process_info>\n</process_info>\n"),
                                       shareOfGpu2());
    EXPECT_EQ(result.text, correctAs({"-q", "-x"}, xml, shareOfGpu2()).text);
}

TEST(NvidiaSmiXml, EndsWhereItIsNotWellFormed) {
    const std::string row = "\t\t\t<process_info>\n\t\t\t\t<pid>9998</pid>\n";
    const std::string secret = "<process_name>secret</process_name>\n</process_info>\n";
    const std::string corrected = correctAs({"-q", "-x"}, xml, shareOfGpu2()).text;
    const std::string begin = corrected.substr(0, corrected.find("\t\t<processes>"));
    for (const std::string& wrong :
         {std::string("<type>a & b</type>\n"), std::string("<type>\x1b[2J</type>\n"),
          std::string("<process_name></process_name></process_info></processes></gpu>"
                      "</nvidia_smi_log><!--\n"),
          "<process_name>" + std::string(3U << 20U, 'x') + "</process_name>\n",
          "<process_name " + std::string(900000, 'x') + "\n" + std::string(900000, 'x') + "\n"}) {
        const Corrected result =
            correctAs({"-q", "-x"}, xmlWithProcesses(row + wrong + secret), shareOfGpu2());
        EXPECT_EQ(result.text.substr(0, begin.size()), begin) << wrong.substr(0, 100);
        EXPECT_EQ(result.text.find("secret"), std::string::npos) << wrong.substr(0, 100);
        EXPECT_EQ(result.text.find("4711"), std::string::npos) << wrong.substr(0, 100);
        ASSERT_FALSE(result.notes.empty()) << wrong.substr(0, 100);
        EXPECT_NE(result.notes.front().find("omitted the rest"), std::string::npos);
    }
}

TEST(NvidiaSmiXml, EndsWithANoteWhereItIsCutOff) {
    const Corrected result =
        correctAs({"-q", "-x"}, xml.substr(0, xml.find("<pid>9999")), shareOfGpu2());
    EXPECT_EQ(result.text.find("<process_info>"), std::string::npos);
    ASSERT_EQ(result.notes.size(), 1U);
    EXPECT_EQ(result.notes[0],
              "nvidia-smi's report is not well-formed XML (unexpected end): omitted the rest");
}

TEST(NvidiaSmiXml, DeclaresNoEntities) {
    const std::string doctype = "<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_v12.dtd\"";
    EXPECT_TRUE(correctAs({"-q", "-x"}, replaced(xml, "<nvid", doctype + ">\n<nvid"), shareOfGpu2())
                    .notes.empty());
    const Corrected result =
        correctAs({"-q", "-x"}, replaced(xml, "<nvid", doctype + " [<!ENTITY e 'x'>]>\n<nvid"),
                  shareOfGpu2());
    EXPECT_EQ(result.text.find("<attached_gpus>"), std::string::npos);
    EXPECT_EQ(result.notes.size(), 1U);
}

TEST(NvidiaSmiXml, DoesNotNestWithoutEnd) {
    std::string nested;
    for (int i = 0; i < 100000; ++i)
        nested += "<a>\n";
    const Corrected result = correctAs({"-q", "-x"}, nested, shareOfGpu2());
    EXPECT_LT(result.text.size(), 10000U);
    EXPECT_EQ(result.notes.size(), 1U);
}

} // namespace
} // namespace genv::shims::nvidia_smi
