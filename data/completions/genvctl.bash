# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Completes genvctl and genv in bash, with bash-completion. What there is to complete is genvctl's own knowledge:
# "genvctl complete WORD..." answers with a line that says who completes, then with a candidate a line and its help
# behind a tab.

_genvctl() {
    local cur words cword answer kind line candidates=()
    # Ids may have colons and at signs in them, which are borders of words to bash.
    _get_comp_words_by_ref -n "=:@" cur words cword
    # The shell function of "genvctl shell --init" knows which program it belongs to.
    answer=$(command "${__genv_program:-genvctl}" complete "${words[@]:1:cword}" 2>/dev/null) || return 0
    {
        read -r kind
        while IFS= read -r line; do
            candidates+=("${line%%$'\t'*}")
        done
    } <<<"$answer"

    case $kind in
    files)
        _filedir
        return
        ;;
    command\ *)
        _command_offset $((${kind#command } + 1))
        return
        ;;
    esac

    # bash inserts what comes behind the last border; what is before it has been typed.
    local typed=${cur%"${cur##*["$COMP_WORDBREAKS"]}"} candidate
    COMPREPLY=()
    for candidate in "${candidates[@]}"; do
        printf -v line %q "${candidate#"$typed"}"
        COMPREPLY+=("$line")
    done
    if ((${#candidates[@]} == 1)) && [[ ${candidates[0]} == *= ]]; then
        compopt -o nospace
    fi
}

complete -F _genvctl genvctl genv
