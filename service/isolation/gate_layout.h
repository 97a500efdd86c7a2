/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The keys, values and sizes of the maps that the gate's program and the service share. This file
   is in C because the program is. See gate.bpf.c for the readers and writers of each map. If keys,
   values or sizes change here, the loader creates the map anew at the next upgrade. If only the
   meaning changes, the map needs a new name. */
#ifndef GENV_ISOLATION_GATE_LAYOUT_H
#define GENV_ISOLATION_GATE_LAYOUT_H

#include <linux/types.h>

/* Special values in place of a uid. No user has this uid. */
#define GENV_ANYONE 0xffffffffu /* in grants: everybody may open the node */
#define GENV_EXEMPT 0xffffffffu /* in identities: these uids may open every node */
#define GENV_LISTED 0xfffffffeu /* in grants: the node is one of the guarded ones of its major */

/* majors: how the nodes of a major are guarded. */
enum genv_guard {
    GENV_GUARD_NONE = 0,
    GENV_GUARD_ALL = 1,    /* all, also those that appear later */
    GENV_GUARD_LISTED = 2, /* those with GENV_LISTED in grants: the major belongs to many drivers */
};

/* grants: a user who may open a node; the value is always 1. */
struct genv_grant {
    __u32 major;
    __u32 minor;
    __u32 uid;
};

/* identities: a block of uids -> the uid whose grants count for them. The longest prefix wins. */
struct genv_uid_block {
    __u32 prefix_length; /* in bits, of 32 */
    __u32 first_uid;     /* in network byte order, as the kernel compares prefixes */
};

/* refusals: a user and a node that this user was refused ... */
struct genv_refusal_key {
    __u32 uid; /* the user whose grants were checked */
    __u32 major;
    __u32 minor;
};

/* ... -> the numbers of opens, and the process of the last one. */
struct genv_refusal {
    __u64 refused;
    __u64 watched; /* allowed, since the mode was GENV_MODE_WATCH */
    __u64 last;    /* nanoseconds of CLOCK_BOOTTIME */
    __u32 pid;     /* 0 before Linux 6.1, which does not report it */
    __u32 reserved;
    char command[16]; /* empty if the kernel does not report it */
};

/* mode: an array. */
enum genv_mode_entry {
    GENV_MODE_ENTRY = 0,      /* one of genv_mode */
    GENV_SUSPENDED_ENTRY = 1, /* 1: opened by an administrator; the loader keeps it open */
    GENV_MODE_ENTRIES = 2,
};
enum genv_mode {
    GENV_MODE_OPEN = 0,  /* allows every access and counts nothing */
    GENV_MODE_WATCH = 1, /* allows every access and counts those without a grant */
    GENV_MODE_REFUSE = 2,
};

/* The maximum number of entries of each map. */
#define GENV_MAX_MAJORS 4096 /* a major number has 12 bits */
#define GENV_MAX_GRANTS 65536
#define GENV_MAX_UID_BLOCKS 262144
#define GENV_MAX_REFUSALS 8192

#endif
