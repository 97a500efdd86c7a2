# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks of the sources: `./dev lint`, `check` and `format`. ./dev sources this file, and defines `root`.
# shellcheck disable=SC2119,SC2120,SC2154

sources() {
    local rooms=() room
    for room in core policy dbus service client shims tests bench; do
        [[ ! -d $room ]] || rooms+=("$room")
    done
    find "${rooms[@]}" -type f "$@" -print0
}

shellScripts() {
    find . \( -path ./build -o -path ./.git \) -prune -o -type f -size -200k ! -name '*.md' ! -name '*.py' -print0 |
        xargs -0 grep -lIE -m1 '^(#!.*\b(ba)?sh\b|# shellcheck shell=)' --
}

xmlFiles() {
    find . \( -path ./build -o -path ./.git \) -prune -o \
        -type f \( -name '*.xml' -o -name '*.policy' -o -name '*.conf' \) -print0 | xargs -0 grep -lI -m1 '^<?xml' --
}

# checkXml FILE...: checks that files are well-formed, and valid if their kind has a DTD.
checkXml() {
    local file dtd
    for file; do
        dtd=()
        case $file in
        *.policy) dtd=(--dtdvalid /usr/share/polkit-1/policyconfig-1.dtd) ;;
        */dbus/*.xml) dtd=(--dtdvalid /usr/share/xml/dbus-1/introspect.dtd) ;;
        esac
        xmllint --noout --nonet --nowarning "${dtd[@]}" "$file" || return 1
    done
}

cppFiles=(\( -name '*.cpp' -o -name '*.hpp' -o -name '*.c' -o -name '*.h' \))

# beginsWith14 TOOL: announces a Clang tool, or reports that it is skipped. Versions other than 14
# format differently and report other findings.
beginsWith14() {
    if command -v "$1-14" >/dev/null; then
        say "$1"
    else
        say "$1: skipped, because the sources need version 14, which Debian 12 has and $(systemName) lacks"
        return 1
    fi
}

lint() {
    local file units failed=()
    ensure build lint
    if beginsWith14 clang-format; then
        sources "${cppFiles[@]}" | xargs -0 -r clang-format-14 --dry-run -Werror || failed+=(clang-format)
    fi
    if beginsWith14 clang-tidy; then
        # clang-tidy needs the generated headers. Nothing else needs to be built.
        cmake --preset lint --log-level=WARNING
        cmake --build --preset lint --target genv_generated
        # In this preset, each translation unit includes several source files.
        mapfile -t units < <(python3 -c 'import json, sys; print(*(c["file"] for c in json.load(sys.stdin)), sep="\n")' \
            <build/lint/compile_commands.json | grep -v '\.c$')
        tidy build/lint "${units[@]}" || failed+=(clang-tidy)
    fi
    say "each file by itself"
    cmake --preset debug --log-level=WARNING -B build/each -DBUILD_TESTING=OFF -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON
    cmake --build build/each --target genv_generated
    forClang build/each
    ! command -v clang-14 >/dev/null || buildPlugins
    tests/dev/compile_each.py build/each/clang "$jobs" "$plugins" || failed+=("each file by itself")
    say "cppcheck"
    mapfile -d '' -t files < <(sources "${cppFiles[@]}")
    cppcheck --quiet -j "$jobs" --error-exitcode=1 --enable=warning,performance,portability --inline-suppr \
        --std=c++20 --library=googletest --suppressions-list=tests/dev/cppcheck-suppressions.txt \
        -I . "${files[@]}" || failed+=(cppcheck)
    say "shellcheck"
    shellScripts | xargs -d '\n' -r shellcheck -x -P "$root" || failed+=(shellcheck)
    say "zsh -n, fish -n"
    for file in data/shell/*.zsh data/shell/login/zsh/.zshenv; do
        zsh -n "$file" || failed+=("zsh -n")
    done
    for file in data/shell/*.fish; do
        fish --no-config -n "$file" || failed+=("fish -n")
    done
    say "mypy, pyflakes"
    /usr/bin/python3 -m mypy --config-file client/python/pyproject.toml --cache-dir build/mypy || failed+=(mypy)
    find client/python tests/python tests/dev tests/mutation bench -name '*.py' -print0 |
        xargs -0 -r /usr/bin/python3 -m pyflakes || failed+=(pyflakes)
    say "xmllint"
    mapfile -t files < <(xmlFiles)
    checkXml "${files[@]}" || failed+=(xmllint)
    ((${#failed[@]} == 0)) || die "failed: ${failed[*]}"
    say "nothing found"
}

# forClang FOLDER: writes the compilation database of that folder to FOLDER/clang, without the options of GCC that
# Clang does not support.
forClang() {
    mkdir -p "$1/clang"
    sed 's/ -fno-gnu-unique / /; s/ -Wno-stringop-overflow / /' "$1/compile_commands.json" >"$1/clang/compile_commands.json"
}

plugins=$root/build/own_code.so
buildPlugins() {
    [[ $plugins -nt tests/dev/own_code.cpp ]] ||
        c++ -std=c++17 -shared -fPIC -fno-rtti -I /usr/lib/llvm-14/include tests/dev/own_code.cpp -o "$plugins"
}

# tidy FOLDER FILE...: runs clang-tidy on these files, with the compilation database of that folder. The plugin saves
# most of its time.
tidy() {
    local database=$1/clang
    buildPlugins
    forClang "$1"
    shift
    (($#)) || return 0
    printf '%s\n' "$@" | xargs -d '\n' -r -n 1 -P "$jobs" \
        clang-tidy-14 --load="$plugins" --quiet --checks=-bugprone-suspicious-include -p "$database"
}

# check [FOLDER]: checks the changed sources, and tests what they can break: tests/dev/changed.py
# selects both. With a FOLDER, tests that one. The first run builds the preset `check`.
check() {
    local kind name files=() folders=() left=() failed=() targets=() skipped='gpu|machine|package|slurm|tsan'
    (($# <= 1)) || die "unknown argument \"$2\": expected one folder of tests" 2
    [[ -z ${1-} || -f tests/$1/CMakeLists.txt ]] || die "no tests in \"tests/$1\": expected a folder of tests, such as core" 2
    ensure build test lint
    while read -r kind name; do
        case $kind in
        file) files+=("$name") ;;
        folder) folders+=("$name") ;;
        left) left+=("$name") ;;
        esac
    done < <(/usr/bin/python3 tests/dev/changed.py "$root" "$@")
    ((${#files[@]} + ${#folders[@]})) || die "no changed C++ source, neither since the last commit nor in it"
    if ((${#files[@]})) && beginsWith14 clang-format; then
        clang-format-14 --dry-run -Werror "${files[@]}" || failed+=("clang-format (run ./dev format)")
    fi
    ((EUID == 0)) || skipped+='|bus|fuse'
    folders=("${folders[@]/#/tests/}")
    if ((${#folders[@]})); then
        # Tests on a bus, and beside them, need the programs, their pages and the tools of the bus.
        ! grep -rqs --include=CMakeLists.txt -F bus "${folders[@]}" ||
            targets=(programs tests/{private_bus,fake_nvml,bus}/all)
        build check --target "${folders[@]/%//all}" "${targets[@]}"
        for name in "${folders[@]}"; do
            say "testing $name"
            ctest --test-dir "build/check/$name" -j "$((2 * jobs))" --output-on-failure -LE "^($skipped)\$" ||
                failed+=("$name")
        done
    fi
    if ((${#files[@]})) && beginsWith14 clang-tidy; then
        # In the preset `check`, each translation unit includes several source files.
        cmake --preset debug --log-level=WARNING >/dev/null
        cmake --build --preset debug --target genv_generated >/dev/null
        mapfile -t files < <(printf '%s\n' "${files[@]}" | grep '\.cpp$')
        tidy build/debug "${files[@]}" || failed+=(clang-tidy)
    fi
    fold -s -w 100 <<<"not tested: ${left[*]}, and the labels ${skipped//|/, }; to test all, run: sudo $root/dev test"
    ((${#failed[@]} == 0)) || die "failed: ${failed[*]}"
    say "nothing found"
}

format() {
    ensure lint
    beginsWith14 clang-format || die "nothing was formatted"
    sources "${cppFiles[@]}" | xargs -0 -r clang-format-14 -i
}
