# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The control groups of the users' managers of a private bus: NAME/USER in each hierarchy in which systemd makes its
# tree. Each belongs to its user, as the group of user@UID.service does. They are outside the namespaces, so that
# private-bus removes them.

# shellcheck disable=SC2154  # the folder of the bus, which the sourcing script sets
userId() { awk -F: -v name="$1" '$1 == name { print $3 }' "$folder/etc/passwd"; }

hierarchies() {
    local top=/sys/fs/cgroup hierarchy
    if [[ $(stat --file-system --format=%T $top) == cgroup2fs ]]; then
        printf '%s\n' "$top"
        return
    fi
    for hierarchy in "$top"/{unified,systemd}; do
        [[ ! -d $hierarchy ]] || printf '%s\n' "$hierarchy"
    done
}

# Returns whether control groups can be made here. In many containers they cannot.
canMakeGroups() {
    local hierarchy found=
    while read -r hierarchy; do
        found=1
        mkdir "$hierarchy/genv-bus-try.$$" 2>/dev/null && rmdir "$hierarchy/genv-bus-try.$$" || return 1
    done < <(hierarchies)
    [[ -n $found ]]
}

# makeGroups NAME USER...
makeGroups() {
    local name=$1 hierarchy user group controller file
    shift
    while read -r hierarchy; do
        mkdir "$hierarchy/$name" || return 1
        for controller in cpu memory pids; do # as far as the machine has them there
            [[ ! -e $hierarchy/$name/cgroup.subtree_control ]] ||
                printf '+%s\n' $controller 2>/dev/null >"$hierarchy/$name/cgroup.subtree_control" || true
        done
        for user; do
            group=$hierarchy/$name/$user
            mkdir "$group" || return 1
            chown "$(userId "$user")" "$group" "$group/cgroup.procs"
            for file in cgroup.subtree_control cgroup.threads tasks; do
                [[ ! -e $group/$file ]] || chown "$(userId "$user")" "$group/$file"
            done
        done
    done < <(hierarchies)
}

# removeGroups NAME: fails while a process is in one of them.
removeGroups() {
    local hierarchy
    while read -r hierarchy; do
        [[ ! -d $hierarchy/$1 ]] || find "$hierarchy/$1" -depth -type d -exec rmdir {} + || return 1
    done < <(hierarchies)
}

# awaitNoGroups NAME: the kernel takes a moment to let the last processes go.
awaitNoGroups() {
    local try
    for ((try = 0; try < 200; ++try)); do
        ! removeGroups "$1" 2>/dev/null || return 0
        sleep 0.01
    done
    printf 'private-bus: the control groups of %s are left\n' "$1" >&2
}
