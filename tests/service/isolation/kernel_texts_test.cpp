// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/isolation/kernel_texts.hpp"

#include <gtest/gtest.h>

namespace genv::service::isolation {
namespace {

TEST(ControlGroups, AreFoundAloneAndBesideVersion1) {
    EXPECT_EQ(
        findControlGroups(
            "22 1 0:20 / / rw - ext4 /dev/sda1 rw\n"
            "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"),
        "/sys/fs/cgroup");
    EXPECT_EQ(
        findControlGroups("31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
                          "36 31 0:33 / /sys/fs/cgroup/devices rw - cgroup cgroup rw,devices\n"
                          "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"),
        "/sys/fs/cgroup/unified");
    EXPECT_EQ(findControlGroups("41 31 0:38 / /odd\\040place rw master:1 x - cgroup2 none rw\n"),
              "/odd place");
}

TEST(ControlGroups, APartOfThemIsNotTheirRoot) {
    EXPECT_FALSE(findControlGroups("41 31 0:38 /docker/1 /sys/fs/cgroup rw - cgroup2 cgroup rw\n"));
    EXPECT_FALSE(findControlGroups("41 31 0:38 /../.. /sys/fs/cgroup rw - cgroup2 cgroup rw\n"));
    EXPECT_FALSE(findControlGroups("36 31 0:33 / /sys/fs/cgroup/devices rw - cgroup cgroup2 rw\n"));
    for (const char* text : {"", "\n", "-", "1 2 3 - cgroup2", "1 2 3 / /x rw -", "- cgroup2 / /"})
        EXPECT_FALSE(findControlGroups(text)) << text;
}

TEST(MajorNumbers, AreThoseOfCharacterDevices) {
    const std::string devices = "Character devices:\n  1 mem\n195 nvidia\n195 nvidiactl\n"
                                "507 nvidia-caps\n\nBlock devices:\n  8 sd\n508 nvidia-uvm\n";
    EXPECT_EQ(findCharacterMajor(devices, "nvidia-caps"), 507U);
    EXPECT_EQ(findCharacterMajor(devices, "mem"), 1U);
    EXPECT_FALSE(findCharacterMajor(devices, "nvidia-uvm"));
    EXPECT_FALSE(findCharacterMajor(devices, "nvidia-cap"));
    EXPECT_FALSE(findCharacterMajor("", "nvidia-caps"));
    EXPECT_FALSE(findCharacterMajor("507 nvidia-caps\n", "nvidia-caps"));
}

} // namespace
} // namespace genv::service::isolation
