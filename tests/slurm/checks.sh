# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Shared parts of the tests on a cluster. Each waits for a condition, never for a fixed time.
set -uo pipefail
cd /tmp || exit 1
failed=0

# check WHAT COMMAND...: checks a condition that must hold.
check() {
    local what=$1
    shift
    if "$@" >"$LAB/log/check" 2>&1; then
        printf 'ok   %s\n' "$what"
    else
        printf 'FAIL %s\n' "$what"
        sed 's/^/     /' "$LAB/log/check" | tail -n 5
        failed=1
    fi
}
finish() {
    if ((failed)); then
        tail -n 30 "$LAB"/log/{genvd,slurmd,genv-slurm,node}-* "$LAB/log/slurmctld"
    fi
    exit "$failed"
}

# soon COMMAND...: waits until the command succeeds, for at most this number of seconds.
patience=60
soon() {
    local end=$((SECONDS + patience))
    until "$@" >/dev/null 2>&1; do
        if ((SECONDS >= end)); then
            "$@"
            return
        fi
        sleep 0.05
    done
}
is() { [[ $1 == "$2" ]] || {
    printf 'it is "%s", not "%s"\n' "$1" "$2"
    return 1
}; }
contains() { [[ $1 == *"$2"* ]] || {
    printf '"%s" does not contain "%s"\n' "$1" "$2"
    return 1
}; }
not() { ! "$@"; }
# outputIs TEXT COMMAND...
outputIs() { is "$("${@:2}")" "$1"; }

batch() { as alice sbatch --parsable -o /dev/null "$@"; }
isInState() { is "$(squeue -h -j "$1" -o %t 2>/dev/null)" "$2"; }
isGone() { [[ -z $(squeue -h -j "$1" -o %t 2>/dev/null) ]]; }
noNodeIsDrained() { not bash -c 'sinfo -h -o "%t %E" | grep -E "drain|down"'; }
allIdle() { [[ $(sinfo -h -N -o %t | sort -u) == idle ]]; }

hasEnvironment() { on "$1" genvctl envs --no-legend | grep -q "^$2 "; }
hasNoEnvironment() { on "$1" genvctl envs --no-legend >/dev/null && ! hasEnvironment "$@"; }
# held NODE: prints its devices and their holders, such as "2,slurm-7 3,slurm-7".
held() {
    on "$1" busctl --json=short call dev.genv.Manager /dev/genv/Manager dev.genv.Manager ListAttachments |
        grep -oE '\[[0-9]+,"[^"]+"' | tr -d '["' | sort | xargs
}
heldIs() { is "$(held "$1")" "$2"; }
# hasProcess NODE ENVIRONMENT: succeeds if a compute process there belongs to that environment.
hasProcess() {
    on "$1" busctl --json=short call dev.genv.Manager /dev/genv/Manager dev.genv.Manager ListProcesses | grep -qF "\"$2\""
}
propertyOf() { on "$1" busctl get-property dev.genv.Manager "/dev/genv/Manager/environment/slurm_2d$2" dev.genv.Environment "$3"; }
killService() { kill -KILL "$(on "$1" busctl --json=short call org.freedesktop.DBus /org/freedesktop/DBus \
    org.freedesktop.DBus GetConnectionUnixProcessID s dev.genv.Manager | grep -oE '[0-9]+')"; }
