// SPDX-License-Identifier: LGPL-2.1-or-later
// Queues records on their way to the journal. Each record waits until the user database has
// answered for the users in it. Later records wait as well, so that the journal has them in the
// order of the events.
#pragma once

#include "core/model/reason.hpp"
#include "core/ports/users.hpp"
#include "service/journal/record.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

namespace genv::service::journal {

class RecordQueue {
  public:
    /// The maximum number of waiting records. Beyond it, the first record is written without names.
    static constexpr std::size_t maxWaiting = 1'000;

    /// Both arguments must outlive this object.
    RecordQueue(core::Users& users, Sink& sink);
    /// Writes the waiting records, with uids instead of names.
    ~RecordQueue();
    RecordQueue(const RecordQueue&) = delete;
    RecordQueue& operator=(const RecordQueue&) = delete;

    /// Adds the owner and the caller to a record, and queues it.
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
    std::uint64_t first_ = 0; ///< the number of the first waiting record
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true); ///< false after destruction
};

} // namespace genv::service::journal
