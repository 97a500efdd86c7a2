// SPDX-License-Identifier: LGPL-2.1-or-later
// The gate that guards GPU device nodes. It is attached to the root of the control groups, so the
// kernel runs it for each open(2) of a device node and each mknod(2). Programs of systemd, of
// containers and of batch systems are attached further down. A node opens only if all of them allow
// it.
//
// gate_program.inc has the compiled instructions of this program and is written by
// make-gate-program. The instructions load on Linux 5.10 and later. Before 6.1, the kernel lacks
// the helpers for a process's PID and name, and the loader replaces those calls by 0.
#include "service/isolation/gate_layout.h"

#include <linux/bpf.h>

#define SECTION(name) __attribute__((section(name), used))

enum verdict { REFUSE = 0, ALLOW = 1 };

// The loader inserts a map for each of these. Only the loader and the service write to them, except
// for `refusals`, to which the program also writes.
struct map;
extern struct map majors;     // major -> enum genv_guard; an array costs other devices least
extern struct map grants;     // struct genv_grant -> 1
extern struct map identities; // struct genv_uid_block -> uid or GENV_EXEMPT
extern struct map refusals;   // struct genv_refusal_key -> struct genv_refusal
extern struct map mode;       // enum genv_mode_entry -> number

static void* (*const lookUp)(struct map* map, const void* key) = (void*)BPF_FUNC_map_lookup_elem;
static long (*const update)(struct map* map, const void* key, const void* value,
                            __u64 flags) = (void*)BPF_FUNC_map_update_elem;
static __u64 (*const realUidAndGid)(void) = (void*)BPF_FUNC_get_current_uid_gid;
static __u64 (*const processAndThread)(void) = (void*)BPF_FUNC_get_current_pid_tgid;
static long (*const copyCommand)(void* to, __u32 size) = (void*)BPF_FUNC_get_current_comm;
static __u64 (*const bootTime)(void) = (void*)BPF_FUNC_ktime_get_boot_ns;

static __attribute__((always_inline)) __u32 networkOrder(__u32 number) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return __builtin_bswap32(number);
#else
    return number;
#endif
}

static __attribute__((always_inline)) void count(const struct genv_refusal_key* key, __u32 now) {
    struct genv_refusal* refusal = lookUp(&refusals, key);
    if (!refusal) {
        struct genv_refusal none = {};
        update(&refusals, key, &none, BPF_NOEXIST); // fails if another processor was first
        refusal = lookUp(&refusals, key);
        if (!refusal)
            return;
    }
    if (now == GENV_MODE_WATCH) {
        __sync_fetch_and_add(&refusal->watched, 1);
        // Keeps the compiler from computing one address for both branches: without CAP_PERFMON, the
        // kernel takes no pointer with an offset that varies.
        __asm__ volatile("");
    } else {
        __sync_fetch_and_add(&refusal->refused, 1);
    }
    refusal->last = bootTime();
    refusal->pid = processAndThread() >> 32;
    copyCommand(refusal->command, sizeof refusal->command);
}

SECTION("cgroup/dev")
int genv_gate(struct bpf_cgroup_dev_ctx* access) {
    // The lower half is the type of the node, the upper half is the kind of access.
    if ((access->access_type & 0xffff) != BPF_DEVCG_DEV_CHAR)
        return ALLOW;
    // CAP_MKNOD decides who may create a node. For example, a user's setuid nvidia-modprobe does
    // so.
    if (!((access->access_type >> 16) & (BPF_DEVCG_ACC_READ | BPF_DEVCG_ACC_WRITE)))
        return ALLOW;
    __u32 major = access->major;
    const __u32* guarded = lookUp(&majors, &major);
    if (!guarded || *guarded == GENV_GUARD_NONE)
        return ALLOW;
    struct genv_grant wanted = {.major = major, .minor = access->minor, .uid = GENV_LISTED};
    if (*guarded == GENV_GUARD_LISTED && !lookUp(&grants, &wanted))
        return ALLOW;

    __u32 entry = GENV_MODE_ENTRY;
    const __u32* set = lookUp(&mode, &entry);
    const __u32 now = set ? *set : GENV_MODE_OPEN; // an array has all of its entries
    if (now == GENV_MODE_OPEN)
        return ALLOW;

    // Use the real uid, so that a setuid program counts as its caller. The uid is in the numbering
    // of the machine, even for a process in a user namespace.
    const __u32 uid = (__u32)realUidAndGid();
    if (uid == 0)
        return ALLOW;
    wanted.uid = GENV_ANYONE;
    if (lookUp(&grants, &wanted))
        return ALLOW;

    // Check the uid's own grants first. They apply even if the uid is also a subordinate uid: a
    // user of a directory service may have a uid that /etc/subuid also gives to another user.
    wanted.uid = uid;
    if (lookUp(&grants, &wanted))
        return ALLOW;

    // A container's uid counts as the user who owns this subordinate uid.
    const struct genv_uid_block block = {.prefix_length = 32, .first_uid = networkOrder(uid)};
    const __u32* owner = lookUp(&identities, &block);
    if (owner && *owner == GENV_EXEMPT)
        return ALLOW;
    if (owner) {
        wanted.uid = *owner;
        if (lookUp(&grants, &wanted))
            return ALLOW;
    }

    // Count by owner, so that no user can push other users' counts out of the map with many
    // subordinate uids.
    const struct genv_refusal_key refused = {
        .uid = wanted.uid, .major = wanted.major, .minor = wanted.minor};
    count(&refused, now);
    return now == GENV_MODE_WATCH ? ALLOW : REFUSE;
}
