/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the gate's program and the service agree on: keys, values and sizes of its maps. C, since
   the program is; see gate.bpf.c for who reads and writes what. A map whose keys, values or sizes
   change here is made anew by the loader at the next upgrade; one whose meaning changes needs a new
   name. */
#ifndef GENV_ISOLATION_GATE_LAYOUT_H
#define GENV_ISOLATION_GATE_LAYOUT_H

#include <linux/types.h>

/* In place of a uid, of which none has this number. */
#define GENV_ANYONE 0xffffffffu /* in grants: everybody may open the node */
#define GENV_EXEMPT 0xffffffffu /* in identities: these uids may open every node */

/* grants: who may open a node; the value is always 1. */
struct genv_grant {
    __u32 major;
    __u32 minor;
    __u32 uid;
};

/* identities: a block of uids, the longest prefix first -> the uid whose grants count for them. */
struct genv_uid_block {
    __u32 prefix_length; /* in bits, of 32 */
    __u32 first_uid;     /* in network byte order, as the kernel compares prefixes */
};

/* refusals: at which node somebody was refused ... */
struct genv_refusal_key {
    __u32 uid; /* whose grants were looked for */
    __u32 major;
    __u32 minor;
};

/* ... and how often, and by which process last. */
struct genv_refusal {
    __u64 count;
    __u64 last; /* nanoseconds of CLOCK_BOOTTIME */
    __u32 pid;  /* 0 where the kernel does not say: before 6.1 */
    __u32 reserved;
    char command[16]; /* empty where the kernel does not say */
};

/* mode: an array. */
enum genv_mode_entry {
    GENV_MODE_ENTRY = 0,      /* one of genv_mode */
    GENV_SUSPENDED_ENTRY = 1, /* 1: a person opened the gate, so that the loader leaves it open */
    GENV_MODE_ENTRIES = 2,
};
enum genv_mode {
    GENV_MODE_OPEN = 0,  /* lets everybody through and counts nothing */
    GENV_MODE_WATCH = 1, /* counts who has no grant, and lets them through */
    GENV_MODE_REFUSE = 2,
};

/* How many entries the maps may have. */
#define GENV_MAX_MAJORS 4096 /* of which one has 12 bits */
#define GENV_MAX_GRANTS 65536
#define GENV_MAX_UID_BLOCKS 262144
#define GENV_MAX_REFUSALS 8192

#endif
