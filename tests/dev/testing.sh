# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# `./dev test` in each of its modes, and `./dev fuzz`. ./dev sources this file, and defines `root`.
# shellcheck disable=SC2119,SC2120,SC2154

# testCommand [MODE]... [CTEST-ARGUMENT]...
testCommand() {
    local mode='' suite='' slurm='' arguments=()
    while (($#)); do
        case $1 in
        --quick | --full | --released | --coverage | --mutate | --on)
            [[ -z $mode ]] ||
                die "$mode and $1 are given: expected one of --quick, --full, --released, --coverage, --mutate or --on" 2
            mode=$1
            if [[ $1 == --on ]]; then
                suite=${2-}
                (($# == 1)) || shift
            fi
            ;;
        --slurm) slurm=$1 ;;
        *) arguments+=("$1") ;;
        esac
        shift
    done
    [[ -z $slurm || -z $mode || $mode == --on ]] || die "$mode and --slurm are given: expected --slurm alone, or with --on" 2
    case $mode$slurm in
    --on*) testOn "$suite" "${slurm:---released}" "${arguments[@]}" ;;
    --slurm) testSlurm "${arguments[@]}" ;;
    --released) testReleased "${arguments[@]}" ;;
    --coverage) testCoverage "${arguments[@]}" ;;
    --mutate) testMutate "${arguments[@]}" ;;
    --quick) testQuick "${arguments[@]}" ;;
    --full) testAll full "${arguments[@]}" ;;
    *) testAll '' "${arguments[@]}" ;;
    esac
}

# checkArguments [CTEST-ARGUMENT]...: refuses what ctest would ignore, and run all tests.
checkArguments() {
    local argument previous='' known
    known=" $(ctest --help | grep -E '^  -' | grep -oE '(^ +|, ?)--?[[:alnum:]-]+' | tr -d ' ,' | paste -sd ' ') "
    for argument; do
        if [[ $argument == -* ]]; then
            [[ $known == *" ${argument%%=*} "* || $argument =~ ^-j[0-9]+$ ]] ||
                die "unknown argument \"$argument\": expected an option of ctest (ctest --help)" 2
        elif [[ $previous != -* ]]; then
            die "unknown argument \"$argument\": expected an option of ctest, such as -R $argument" 2
        fi
        previous=$argument
    done
}

# runTests PRESET [CTEST-ARGUMENT]...: runs tests, and stores the results for the summary even if
# tests fail.
runTests() {
    # Tests on a bus mostly wait for other processes on it, with sanitizers a little less.
    local preset=$1 folder=build/$1 status=0 parallel=$((2 * jobs))
    shift
    # Slurm is only installed for `test --slurm`.
    [[ $* == *'-L ^slurm$'* || $* == *'-LE ^(slurm|'* ]] || set -- -LE '^slurm$' "$@"
    say "testing $preset"
    rm -f "$folder"/{results.xml,ctest-status}
    ctest --test-dir "$folder" --show-only=json-v1 >"$folder/tests.json"
    [[ $preset != release ]] || parallel=$((3 * jobs))
    withPlainLayout "$preset" ctest --test-dir "$folder" -j "$parallel" --output-on-failure --no-tests=error \
        --test-output-size-passed 4194304 --output-junit results.xml "$@" || status=$?
    printf '%s\n' "$status" >"$folder/ctest-status"
}

# summarize WHERE FOLDER...: prints the results. Returns a failure if a test failed or was skipped
# without a permitted reason.
summarize() {
    noteOwner
    say "summary$1"
    python3 tests/dev/summary.py "${@:2}"
}

# testQuick [CTEST-ARGUMENT]...: runs the unit tests with the sanitizers.
testQuick() {
    ensure build test package
    checkArguments "$@"
    export UBSAN_OPTIONS=${UBSAN_OPTIONS-print_stacktrace=1}
    build asan
    runTests asan -L '^unit$' "$@"
    summarize '' build/asan
}

# onBusIn PRESET: prints a regular expression for the tests on a bus that this preset has.
onBusIn() {
    local names
    names=$(ctest --test-dir "build/$1" --show-only -L '^bus$' | sed -En 's/^ *Test +#[0-9]+: (.*)/\1/p')
    names=${names//./\\.}
    printf '^(%s)$\n' "${names//$'\n'/|}"
}

# testAll [full] [CTEST-ARGUMENT]...: with the sanitizers, runs all tests. With the release build,
# runs the tests of packages and machines, and those on a bus that the sanitizers cannot run, or with
# an argument all. With ThreadSanitizer, runs only tests without an uninstrumented event loop
# (CMakePresets.json). Each build runs during the tests of the previous one.
testAll() {
    local full=$1 fuzzed=0 threads=() without=()
    shift
    ensure build test package
    checkArguments "$@"
    if [[ $full ]]; then
        export GENV_TEST_FULL=1
        threads=(core_tests)
    fi
    ((EUID == 0)) || printf 'dev: note: without root the tests on a bus are skipped, and the run fails; run: sudo %s/dev test\n' "$root" >&2
    export UBSAN_OPTIONS=${UBSAN_OPTIONS-print_stacktrace=1}

    build asan
    buildAside release --target shipped
    runTests asan "$@"
    joinBuild
    buildAside tsan --target tsan_tests "${threads[@]}"
    (($#)) || [[ $full ]] || without=(-E "$(onBusIn asan)")
    runTests release -L '^(bus|gpu|package|machine)$' "${without[@]}" "$@"
    joinBuild
    runTests tsan -L "^tsan${full:+(-full)?}\$" "$@"
    [[ ${GENV_TEST_FULL-} != 1 ]] || fuzz || fuzzed=$?
    summarize '' build/{asan,release,tsan} && return "$fuzzed"
}

# testReleased [CTEST-ARGUMENT]...: runs all tests of the release build.
testReleased() {
    ensure build test package
    checkArguments "$@"
    needRoot "test --released"
    build release
    runTests release "$@"
    summarize " ($(systemName))" build/release
}

# testSlurm [CTEST-ARGUMENT]...: tests the release build on the nodes of a Slurm cluster, one cluster
# at a time, and its packages on a machine with Debian's Slurm.
testSlurm() {
    ensure build test package slurm
    checkArguments "$@"
    needRoot "test --slurm"
    build release --target slurm_cluster
    runTests release -L '^slurm$' -j 1 "$@"
    summarize " ($(systemName), Slurm)" build/release
}

# testOn SUITE MODE [CTEST-ARGUMENT]...: runs the same tests on another Debian. Without further
# arguments, --released leaves out the GPU kit, which brings its own Debian, and also tests the
# upgrade of a machine to that Debian if it is the next release.
testOn() {
    local suite=$1 mode=$2 status=0
    shift 2
    local arguments=("$@")
    [[ $mode != --released || $# -gt 0 ]] || arguments=(-LE '^(slurm|gpu)$')
    tests/dev/on --check "$suite" || exit
    ensure on
    # A signal interrupts only the wait for a background command. The command ends with this
    # process, even after SIGKILL.
    trap 'exit 130' INT
    trap 'exit 143' TERM
    setpriv --pdeathsig TERM tests/dev/on "$suite" ./dev test "$mode" "${arguments[@]}" &
    wait $! || status=$?
    trap - INT TERM
    if ((status == 0 && $# == 0)) && [[ $mode == --released ]] && [[ $(nextSuite) == "$suite" ]]; then
        upgradeTo "$suite" || status=$?
    fi
    return "$status"
}

# nextSuite: prints the Debian release that follows this one.
nextSuite() {
    # shellcheck source=/dev/null
    case $(. /etc/os-release && printf '%s' "${VERSION_CODENAME-}") in
    bookworm) printf 'trixie\n' ;;
    esac
}

# packagesAreOfNow: returns whether no source is newer than the packages of the release build.
packagesAreOfNow() {
    local package
    package=$(compgen -G 'build/release/packages/genv_*.deb' | head -n 1)
    [[ -n $package ]] && ! find . \( -path ./build -o -path ./.git \) -prune -o -type f -newer "$package" -print | grep -q .
}

# upgradeTo SUITE: upgrades a machine with packages of this Debian to the given one and to the
# packages built there.
upgradeTo() {
    ensure build test package
    build release --target shipped
    packagesAreOfNow ||
        ctest --test-dir build/release --output-on-failure --no-tests=error -R '^package\.build$'
    say "upgrading a machine to Debian $1"
    GENV_NEXT_SUITE=$1 GENV_NEXT_PACKAGES=$root/build/on/$1/build/release/packages \
        tests/machine/machine build/release tests/machine/dist-upgrade-test
}

# Matches source lines without a decision. gcov counts branches there that the compiler has added (a
# call that may throw, a temporary that is destroyed, the guard of a static). No test can take such
# branches; see data/doc/testing.md.
decidesNothing='^(?!.*(\b(if|for|while|switch|case|do)\b|\?|&&|\|\|)).*$'

# testCoverage [CTEST-ARGUMENT]...: measures the coverage of genvd's code by its unit tests and its
# tests on a bus.
testCoverage() {
    local folder=build/coverage status=0
    ensure build test coverage
    checkArguments "$@"
    needRoot "test --coverage"
    build coverage --target coverage_tests
    find "$folder" -name '*.gcda' -delete
    # Exclude tests of clients, because other users could not write the counters, and tests of
    # floods, because their limits do not apply to instrumented programs.
    GCOV_ERROR_FILE=/dev/null runTests coverage -R '^(core|policy|dbus|service|bus|hostile)\.' -E '^(bus\.containers|hostile\.(output|floods|S.*))$' "$@"
    say "counting"
    mkdir -p "$folder/html"
    gcovr --root . --filter core/ --filter policy/ --filter dbus/ --filter service/ --exclude-throw-branches \
        --exclude-branches-by-pattern "$decidesNothing" --json "$folder/coverage.json" \
        --html-details "$folder/html/index.html" --html-title "genv $(git describe --always 2>/dev/null)" "$folder"
    summarize '' "$folder" || status=1
    say "coverage ($folder/html/index.html shows it line by line)"
    python3 tests/dev/coverage.py "$folder/coverage.json" || status=1
    return "$status"
}

# testMutate [FOLDER]: builds a copy of the sources with mutants once, and runs the tests that reach each one.
testMutate() {
    local folder=build/mutate status=0
    (($# <= 1)) || die "unknown argument \"$2\": --mutate takes one folder" 2
    tests/mutation/mutate.py check "$@" || exit
    needRoot "test --mutate"
    ensure build test
    /usr/bin/python3 -c 'import clang.cindex' 2>/dev/null ||
        die "--mutate needs python3-clang-14, which Debian 12 has and $(systemName) lacks"
    say "choosing mutants"
    tests/mutation/mutate.py copy
    cmake --preset mutate --log-level=WARNING -S "$folder/tree" -B "$folder/build"
    cmake --build "$folder/build" --target genv_generated
    tests/mutation/mutate.py plan
    say "building mutate"
    cmake --build "$folder/build" -j "$jobs" --target genv_pages genvctl \
        tests/{core,policy,dbus,service,bus,faults,history,hostile,fake_nvml,fake_cuda,private_bus}/all
    say "testing mutate"
    tests/mutation/mutate.py run "$@" || status=$?
    noteOwner
    return "$status"
}

# fuzz [TARGET]...: fuzzes targets, and writes only to build/fuzz.
fuzz() {
    ensure build test
    build fuzz || return
    say "fuzzing"
    tests/fuzz/run-all build/fuzz "$@"
}
