# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Builds of ./dev, which sources this file, and defines `root`.
# shellcheck disable=SC2154

jobs=$(nproc)

# withPlainLayout PRESET COMMAND...: disables address space randomization for sanitizers, because
# those of GCC 12 do not support the address layouts of newer kernels.
withPlainLayout() {
    local preset=$1
    shift
    if [[ $preset == ?san ]] && setarch -R true 2>/dev/null; then
        setarch -R "$@"
    else
        "$@"
    fi
}

build() { # build PRESET [CMAKE-BUILD-ARGUMENT]...
    local preset=$1
    shift
    case $preset in
    release | demo | debug | check | asan | tsan | coverage) ;;
    fuzz) ensure fuzz ;;
    *) die "unknown preset \"$preset\": expected release, debug, check, asan, tsan, fuzz or coverage" 2 ;;
    esac
    say "building $preset"
    cmake --preset "$preset" --log-level=WARNING
    withPlainLayout "$preset" cmake --build --preset "$preset" -j "$jobs" "$@"
}

# buildAside PRESET [CMAKE-BUILD-ARGUMENT]...: starts a build with low priority; joinBuild waits for
# it. For the release preset it also fetches the root of the test machine, which takes a while. If
# that fails, the test that needs it reports the reason.
buildForTests() {
    build "$@"
    [[ $1 != release || $EUID != 0 ]] || tests/machine/machine build/release true || true
}
buildAside() {
    mkdir -p build
    nice -n 19 setsid "$root/dev" build-for-tests "$@" </dev/null >build/aside.log 2>&1 &
    aside=$!
    trap 'kill -- "-$aside" 2>/dev/null || true' EXIT
}
joinBuild() {
    local status=0
    wait "$aside" || status=$?
    trap - EXIT
    cat build/aside.log
    return "$status"
}
