// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/terminal/table.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace genv::ctl {
namespace {

Table devicesTable() {
    return Table({{"ID", 8}, {"ENV ID", 12}, {"ENV NAME", 16}, {"ATTACHED", 0}});
}

Table environmentsTable() {
    return Table({{"ID", 8}, {"USER", 16}, {"NAME", 16}, {"CREATED", 21}, {"PID(S)", 0}});
}

TEST(Table, PrintsDevicesAsTheUserGuideShowsThem) {
    Table table = devicesTable();
    table.add({"0", "1573", "Yesterday", "25 minutes ago"});
    table.add({"1", "12167", "Norwegian Wood", "7 hours ago"});
    EXPECT_EQ(table.text(true), "ID      ENV ID      ENV NAME        ATTACHED\n"
                                "0       1573        Yesterday       25 minutes ago\n"
                                "1       12167       Norwegian Wood  7 hours ago\n");
}

TEST(Table, PrintsEnvironmentsAsTheUserGuideShowsThem) {
    Table table = environmentsTable();
    table.add({"1573", "paul(1004)", "Yesterday", "27 minutes ago", "1573"});
    table.add({"12167", "john(1005)", "Norwegian Wood", "7 hours ago", "12167"});
    EXPECT_EQ(table.text(true),
              "ID      USER            NAME            CREATED              PID(S)\n"
              "1573    paul(1004)      Yesterday       27 minutes ago       1573\n"
              "12167   john(1005)      Norwegian Wood  7 hours ago          12167\n");
}

TEST(Table, HasARowWithEmptyCellsForAFreeDevice) {
    Table table = devicesTable();
    table.add({"2", "", "", ""});
    EXPECT_EQ(table.text(false), "2\n");
    EXPECT_EQ(table.csv(true), "ID,ENV ID,ENV NAME,ATTACHED\n2,,,\n");
}

TEST(Table, CutsNothingAndWidensTheColumnsOfLongCells) {
    Table table = devicesTable();
    table.add({"0", "7", "a name that is longer", "1 second ago"});
    table.add({"1", "an-id-that-is-long", "short", "just now"});
    EXPECT_EQ(table.text(true), "ID      ENV ID             ENV NAME              ATTACHED\n"
                                "0       7                  a name that is longer 1 second ago\n"
                                "1       an-id-that-is-long short                 just now\n");
}

TEST(Table, FitsATerminalByShorteningWhatIsTooLong) {
    Table table = devicesTable();
    table.add({"0", "an-id-that-is-long", "a name that is much longer", "25 minutes ago"});
    table.add({"1", "an-id-that-is-long", "short", "just now"});
    table.fit(80);
    EXPECT_EQ(table.text(false),
              "0       an-id-that-is-long a name that is much longer 25 minutes ago\n"
              "1       an-id-that-is-long short                      just now\n");
    table.fit(51);
    EXPECT_EQ(table.text(true), "ID ENV ID      ENV NAME        ATTACHED\n"
                                "0  an-id-that… a name that is… 25 minutes ago\n"
                                "1  an-id-that… short           just now\n");
    table.fit(40);
    EXPECT_EQ(table.text(false), "0  an-id-that… a name that is… 25 minut…\n"
                                 "1  an-id-that… short           just now\n");
}

// The column ENV NAME and then ATTACHED may be dropped; the others stay.
Table tableWithExtras() {
    Table table({{"ID", 8},
                 {"ENV ID", 12},
                 {"ENV NAME", 16, 1},
                 {"ATTACHED", 16, 2},
                 {"USER", 12, 0, true},
                 {"NOTE", 0, 3, true}});
    table.add({"0", "7", "木の名前の長い名前", "25 minutes ago", "alice", "a longer note"});
    table.add({"1", "", "", "", "", ""});
    return table;
}

TEST(Table, LeavesColumnsOutWhereShorterCellsDoNotFit) {
    const auto fitted = [](std::size_t width) {
        Table table = tableWithExtras();
        table.fit(width);
        return table.text(true);
    };
    EXPECT_EQ(fitted(200), tableWithExtras().text(true));
    EXPECT_EQ(fitted(70), "ID ENV ID ENV NAME           ATTACHED       USER  NOTE\n"
                          "0  7      木の名前の長い名前 25 minutes ago alice a longer note\n"
                          "1\n")
        << "narrow columns come before shorter cells";
    EXPECT_EQ(fitted(50), "ID ENV ID ENV NAME           ATTACHED       USER\n"
                          "0  7      木の名前の長い名前 25 minutes ago alice\n"
                          "1\n");
    EXPECT_EQ(fitted(40), "ID ENV ID ENV NAME           USER\n"
                          "0  7      木の名前の長い名前 alice\n"
                          "1\n");
    EXPECT_EQ(fitted(20), "ID ENV ID USER\n"
                          "0  7      alice\n"
                          "1\n");
}

TEST(Table, LeavesOutWhatProgramsDoNotExpect) {
    Table table = tableWithExtras();
    table.leaveOutExtras();
    EXPECT_EQ(table.csv(true), "ID,ENV ID,ENV NAME,ATTACHED\n"
                               "0,7,木の名前の長い名前,25 minutes ago\n"
                               "1,,,\n");
}

TEST(Table, PadsByWhatIsSeenNotByBytes) {
    Table table = devicesTable();
    table.add({"0", "7", "grün", "x"});
    table.add({"1", "7", "木の名前", "x"});
    EXPECT_EQ(table.text(false), "0       7           grün            x\n"
                                 "1       7           木の名前        x\n");
}

TEST(Table, QuotesCsvCellsThatNeedIt) {
    Table table = devicesTable();
    table.add({"0", "7", "a,b \"c\"", "x"});
    EXPECT_EQ(table.csv(false), "0,7,\"a,b \"\"c\"\"\",x\n");
}

TEST(Table, HasNoLiveFormulaInACsvCell) {
    for (const char* name : {"=1+1", "=cmd|' /C calc'!A0", "+a", "-a", "@SUM(1;2)", "-1+2"}) {
        Table table = devicesTable();
        table.add({"0", "7", name, "x"});
        EXPECT_EQ(table.csv(false), fmt::format("0,7,'{},x\n", name));
        EXPECT_NE(table.text(false).find(fmt::format(" {} ", name)), std::string::npos);
    }
    Table numbers = devicesTable();
    numbers.add({"-5", "+1.5", "-", "a=b"});
    EXPECT_EQ(numbers.csv(false), "-5,+1.5,-,a=b\n");
    Table quoted = devicesTable();
    quoted.add({"0", "7", "=A1,\"B\"", "x"});
    EXPECT_EQ(quoted.csv(false), "0,7,\"'=A1,\"\"B\"\"\",x\n");
}

TEST(Table, MakesForeignTextSafe) {
    Table table = devicesTable();
    table.add({"0", "7", "\x1b]0;title\x07\n8,9", "x"});
    EXPECT_EQ(table.text(false), "0       7           \\x1b]0;title\\x07\\x0a8,9 x\n");
    EXPECT_EQ(table.csv(false), "0,7,\"\\x1b]0;title\\x07\\x0a8,9\",x\n");
}

TEST(Table, PutsEmphasisAroundTheHeaderOnly) {
    Table table = devicesTable();
    table.add({"0", "", "", ""});
    EXPECT_EQ(table.text(true, "<", ">"), "<ID      ENV ID      ENV NAME        ATTACHED>\n0\n");
}

} // namespace
} // namespace genv::ctl
