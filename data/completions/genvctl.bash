# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Completes genvctl and genv in bash, with bash-completion. genvctl itself knows the candidates: "genvctl complete
# WORD..." prints a line that says who completes the word, and then one candidate a line, followed by a tab and its
# help.

_genvctl() {
    local cur words cword answer kind line candidates=()
    # Ids may contain colons and at signs, which separate words in bash.
    _get_comp_words_by_ref -n "=:@" cur words cword
    # The shell function of "genvctl shell --init" sets the program to which it belongs.
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

    # bash inserts the text after the last separator. The text before it is typed already.
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
