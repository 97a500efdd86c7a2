// SPDX-License-Identifier: LGPL-2.1-or-later
// The reason that genv-jobs gives for the state of a task that runs.
#include "client/jobs/daemon/reasons.hpp"
#include "tests/jobs/book_fixture.hpp"

namespace genv::jobs::tests {
namespace {

using Reasons = BookTest;

TEST_F(Reasons, ATaskThatIsParkedForAnotherRequestIsSaidToBeParked) {
    const TaskName parked{submit(single()), 0};
    run(parked);
    WaitingFacts facts;
    EXPECT_EQ(reasonOf(*book, parked, facts), "");
    facts.queue["env"].resumes = true;
    EXPECT_EQ(reasonOf(*book, parked, facts), "parked for another request");
    EXPECT_EQ(reasonOf(*book, book->job(parked.job), facts), "parked for another request");
}

TEST_F(Reasons, ATaskWhoseEnvironmentWaitsForMoreRuns) {
    const TaskName grows{submit(single()), 0};
    run(grows);
    WaitingFacts facts;
    facts.queue["env"].waitsFor = "devices";
    EXPECT_EQ(reasonOf(*book, grows, facts), "");
}

} // namespace
} // namespace genv::jobs::tests
