// SPDX-License-Identifier: LGPL-2.1-or-later
// A store of the users' use that keeps the documents in memory, as a machine does.
#pragma once

#include "core/ports/use_store.hpp"
#include "core/use/use_record.hpp"

#include <optional>
#include <string>
#include <utility>

namespace genv::tests {

class FakeUseStore : public core::UseStore {
  public:
    std::optional<std::string> lasting;
    std::optional<std::string> recent;
    std::string bootId = "boot";
    bool isFull = false; ///< writes fail
    int writes = 0;      ///< of the lasting record

    core::UseRecords read() override { return {decoded(lasting), decoded(recent)}; }
    [[nodiscard]] std::string boot() const override { return bootId; }
    void write(core::UseRecord record, std::function<void(bool)> done) override {
        if (!isFull)
            writeNow(record);
        done(!isFull);
    }
    void writeNow(const core::UseRecord& record) override {
        lasting = core::encodeUse(record);
        ++writes;
    }
    void writeRecent(const core::UseRecord& record) override {
        if (!isFull)
            recent = core::encodeUse(record);
    }
    void reboot() {
        bootId += "'";
        recent.reset();
    }

  private:
    static std::optional<core::UseRecord> decoded(const std::optional<std::string>& text) {
        return text ? std::optional(core::decodeUse(*text)) : std::nullopt;
    }
};

} // namespace genv::tests
