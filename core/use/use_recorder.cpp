// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/use/use_recorder.hpp"

#include <utility>

namespace genv::core {

UseRecorder::UseRecorder(DecayedUse& use, UseStore& store, const Clock& clock, Scheduler& scheduler,
                         std::function<bool()> isOrdering, StartHistory* history)
    : use_(use), store_(store), clock_(clock), scheduler_(scheduler),
      isOrdering_(std::move(isOrdering)), history_(history) {}

void UseRecorder::restore() {
    const UseRecords records = store_.read();
    if (records.lasting)
        use_.restore(*records.lasting, store_.boot());
    if (records.lasting && history_ != nullptr)
        history_->restore(*records.lasting);
    if (!records.recent)
        return;
    use_.restore(*records.recent, store_.boot());
    // The next record of recent changes replaces this one, so it repeats its rows.
    for (const UseRow& row : records.recent->rows)
        recent_.insert(row.uid);
    if (!recent_.empty())
        writeLater();
}

void UseRecorder::onEvent(const Event& event) {
    if (std::holds_alternative<Attached>(event) || std::holds_alternative<Detached>(event))
        writeLater();
}

void UseRecorder::holdingEnds(Uid owner) {
    recent_.insert(owner);
    if (isOrdering_())
        writeRecent();
}

void UseRecorder::settingsChanged() {
    if (isOrdering_())
        writeRecent();
    writeLater(); // a new half-life changes the use
}

void UseRecorder::stop() {
    timer_.reset();
    store_.writeNow(lastingRecord());
}

UseRecord UseRecorder::record(std::vector<UseRow> rows) const {
    return {store_.boot(), clock_.bootNow(), clock_.wallNow(), std::move(rows)};
}

UseRecord UseRecorder::lastingRecord() const {
    UseRecord lasting = record(use_.all(clock_.bootNow()));
    if (history_ != nullptr)
        history_->addTo(lasting);
    return lasting;
}

void UseRecorder::writeRecent() {
    std::set<Uid> users = recent_;
    users.insert(writing_.begin(), writing_.end());
    store_.writeRecent(record(use_.of(users, clock_.bootNow())));
}

void UseRecorder::writeLater() {
    if (!timer_)
        timer_ = scheduler_.after(interval, [this] { write(); });
}

// The users of a failed record stay among the recent ones.
void UseRecorder::write() {
    timer_.reset();
    writing_.merge(std::exchange(recent_, {}));
    store_.write(lastingRecord(), [this](bool isWritten) {
        if (isWritten)
            writing_.clear();
        if (!isWritten || use_.isGrowing())
            writeLater();
    });
}

} // namespace genv::core
