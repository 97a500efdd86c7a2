// SPDX-License-Identifier: LGPL-2.1-or-later
// Records on their way to the journal: each waits until the user database has said the names of
// those it is about, and those behind it wait, too, so that the journal has them in the order of
// events.
#pragma once

#include "core/ports/users.hpp"
#include "core/reason.hpp"
#include "service/journal/record.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

namespace genv::service::journal {

class RecordQueue {
  public:
    /// How many wait at most; beyond, the first goes without its names.
    static constexpr std::size_t mostWaiting = 1'000;

    /// Both outlive this.
    RecordQueue(core::Users& users, Sink& sink);
    /// Writes what waits, with uids for names.
    ~RecordQueue();
    RecordQueue(const RecordQueue&) = delete;
    RecordQueue& operator=(const RecordQueue&) = delete;

    /// Adds who a record is about and who did it, and passes it on in its turn.
    void push(Record record, std::optional<core::Uid> owner,
              const std::optional<core::Actor>& caller);

  private:
    struct Person {
        std::string_view field;
        core::Uid uid = 0;
        std::optional<std::string> name;
    };
    struct Waiting {
        Record record;
        std::deque<Person> people;
    };

    void learn(std::uint64_t number, std::string_view field, const std::string& name);
    void passOn();
    void writeFirst();

    core::Users& users_;
    Sink& sink_;
    std::deque<Waiting> waiting_;
    std::uint64_t first_ = 0; ///< the number of the first that waits
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true); ///< false once this is gone
};

} // namespace genv::service::journal
