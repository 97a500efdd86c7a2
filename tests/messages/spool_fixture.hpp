// SPDX-License-Identifier: LGPL-2.1-or-later
// A folder for a spool, and events for it.
#pragma once

#include "client/messages/files/spool.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace genv::messages {

class SpoolFixture : public testing::Test {
  protected:
    SpoolFixture() {
        std::string name = std::filesystem::temp_directory_path() / "genv-messages-XXXXXX";
        if (mkdtemp(name.data()) == nullptr)
            throw std::runtime_error("no folder");
        folder_ = name;
    }
    ~SpoolFixture() override { std::filesystem::remove_all(folder_); }
    SpoolFixture(const SpoolFixture&) = delete;
    SpoolFixture& operator=(const SpoolFixture&) = delete;

    /// The end of a job.
    static MessageEvent endOf(std::uint32_t job) {
        return {.kind = Kind::JobEnded, .when = {}, .job = job, .gpus = {}, .status = "done"};
    }
    [[nodiscard]] std::filesystem::path folder() const { return folder_ / "spool"; }

  private:
    std::filesystem::path folder_;
};

} // namespace genv::messages
