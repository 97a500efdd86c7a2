// SPDX-License-Identifier: LGPL-2.1-or-later
// Host names are completed with the hosts that ssh knows by name.
#include "client/genvctl/remote/known_hosts.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace genv::ctl {
namespace {

class KnownHosts : public testing::Test {
  protected:
    KnownHosts() {
        std::string pattern = (std::filesystem::temp_directory_path() / "genv-XXXXXX").string();
        folder_ = mkdtemp(pattern.data());
    }
    ~KnownHosts() override { std::filesystem::remove_all(folder_); }

    void write(const char* name, const char* text) const { std::ofstream(folder_ / name) << text; }

    std::filesystem::path folder_;
};

TEST_F(KnownHosts, AreThoseOfTheConfigurationAndThoseThatHadAKey) {
    write("config", "Host gpu1 gpu2\n  HostName 10.0.0.1\nhost *.lab !gpu9 -x\nMatch host other\n");
    write("known_hosts", "gpu2,10.0.0.2 ssh-ed25519 AAAA\n[gpu3]:2222 ssh-ed25519 AAAA\n"
                         "|1|c2FsdA==|aGFzaA== ssh-ed25519 AAAA\n@revoked * ssh-ed25519 AAAA\n");
    EXPECT_EQ(knownHosts(folder_),
              (std::vector<std::string>{"10.0.0.2", "gpu1", "gpu2", "gpu3:2222"}));
}

TEST_F(KnownHosts, AreNoneWithoutFiles) {
    EXPECT_TRUE(knownHosts(folder_ / "missing").empty());
}

} // namespace
} // namespace genv::ctl
