# SPDX-License-Identifier: LGPL-2.1-or-later
"""A simulated life of users and GPUs, second by second with its own clock. It produces the records that the service
would write and, computed separately in whole seconds, the use of each user and each GPU in any period."""

import random

from journal_files import event

USERS = {1001: "alice", 1002: "bob", 1003: "carol"}
GPUS = 4
SECOND = 1_000_000
IDLE_AFTER = 60  # seconds without use after which the service reports an idle attachment


def uuid(gpu):
    return f"GPU-simulated-{gpu}"


class Hold:
    """An attachment. `told` is whether the service has reported that it is in use."""

    def __init__(self, environment, uid, gpu, begin):
        self.environment, self.uid, self.gpu, self.begin, self.end = environment, uid, gpu, begin, None
        self.is_used = self.told = False
        self.last_used = None
        self.uses = []  # [begin, end) as reported

    def used_in(self, second):
        return any(begin <= second < end for begin, end in self.uses)


class Life:
    """Runs for this number of seconds from a point in time (µs since the epoch). At the end all environments have
    ended."""

    def __init__(self, start, seconds, seed):
        self.random, self.start, self.seconds = random.Random(seed), start, seconds
        self.records, self.holds, self.waits, self.refusals = [], [], [], []
        self.next_environment = 100
        for second in range(seconds):
            self.live(second)
        for hold in self.open():
            self.detach(hold, seconds)

    def open(self):
        return [hold for hold in self.holds if hold.end is None]

    def time(self, second):
        return self.start + second * SECOND

    def tell(self, second, kind, uid, **fields):
        self.records.append((self.time(second), event(kind, uid=uid, user=USERS[uid], **fields)))

    def log_hold(self, second, kind, hold, since, **fields):
        self.tell(second, kind, hold.uid, environment=hold.environment, device=hold.gpu, device_uuid=uuid(hold.gpu),
                  device_model="Simulated", since_usec=self.time(since), **fields)

    def live(self, second):
        for hold in self.open():
            if hold.is_used:
                hold.last_used = second
            elif hold.told and second - hold.last_used >= IDLE_AFTER:
                hold.told = False
                hold.uses[-1][1] = hold.last_used
                self.log_hold(second, "idle", hold, hold.last_used)
            if self.random.random() < 0.01:
                self.toggle(hold, second)
            elif self.random.random() < 0.003:
                self.detach(hold, second)
        if self.random.random() < 0.02:
            self.attach(second)
        if self.random.random() < 0.004:
            self.wait(second)
        if self.random.random() < 0.004:
            uid = self.random.choice(list(USERS))
            self.refusals.append((second, uid))
            self.records.append((self.time(second), event("refused", caller_uid=uid, caller_user=USERS[uid],
                                                          method="dev.genv.Device.Detach")))

    def attach(self, second):
        gpu, uid = self.random.randrange(GPUS), self.random.choice(list(USERS))
        over = any(hold.gpu == gpu for hold in self.open())
        if over and self.random.random() < 0.6:
            return
        self.next_environment += 1
        hold = Hold(str(self.next_environment), uid, gpu, second)
        self.holds.append(hold)
        self.tell(second, "environment-started", uid, environment=hold.environment)
        self.log_hold(second, "attached", hold, second, **({"over_subscribed": 1} if over else {}))

    def toggle(self, hold, second):
        hold.is_used = not hold.is_used
        hold.last_used = second
        if hold.is_used and not hold.told:
            hold.told = True
            hold.uses.append([second, None])
            self.log_hold(second, "in-use", hold, second)

    def detach(self, hold, second):
        hold.end = second
        if hold.uses and hold.uses[-1][1] is None:
            hold.uses[-1][1] = second
        self.log_hold(second, "detached", hold, hold.begin, held_usec=(second - hold.begin) * SECOND, reason="user",
                       caller_uid=hold.uid, caller_user=USERS[hold.uid])
        self.tell(second, "environment-ended", hold.uid, environment=hold.environment, reason="user")

    def wait(self, second):
        uid = self.random.choice(list(USERS))
        waited = self.random.randrange(1, 600)
        self.waits.append((second, uid, waited))
        self.tell(second, self.random.choice(["wait-granted", "wait-ended"]), uid, environment="1", count=1,
                  waited_usec=waited * SECOND)

    def holds_in(self, since, until):
        return [hold for hold in self.holds
                if hold.begin < until and (hold.end > since or since <= hold.begin)]

    def of_user(self, uid, since, until):
        """Returns the report's row about a user and the seconds [since, until), without the name."""
        holds = [hold for hold in self.holds_in(since, until) if hold.uid == uid]
        held = used = 0
        for hold in holds:
            for second in range(max(since, hold.begin), min(until, hold.end)):
                held += 1
                used += hold.used_in(second)
        waits = [waited for second, whose, waited in self.waits if whose == uid and since <= second < until]
        refusals = sum(whose == uid and since <= second < until for second, whose in self.refusals)
        return usage(held, used, len(holds), waits, refusals)

    def of_gpu(self, gpu, since, until):
        holds = [hold for hold in self.holds_in(since, until) if hold.gpu == gpu]
        held = used = 0
        for second in range(since, until):
            holding = [hold for hold in holds if hold.begin <= second < hold.end]
            held += bool(holding)
            used += any(hold.used_in(second) for hold in holding)
        return usage(held, used, len(holds), [], 0)


def usage(held, used, attachments, waits, refusals):
    mean = sum(waits) * SECOND // len(waits) if waits else 0
    return {"held": held * SECOND, "used": used * SECOND, "idle": (held - used) * SECOND, "unknown": 0,
            "parked": 0, "taken": 0, "attachments": attachments, "refusals": refusals,
            "waits": {"count": len(waits), "mean": mean, "longest": max(waits, default=0) * SECOND}}
