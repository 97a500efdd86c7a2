#compdef genvctl genv
# SPDX-License-Identifier: LGPL-2.1-or-later
# Completes genvctl and genv in zsh. What there is to complete is genvctl's own knowledge: "genvctl complete WORD..."
# answers with a line that says who completes, then with a candidate a line and its help behind a tab.

_genvctl() {
    local kind line value
    local -a answer described plain
    # The shell function of "genvctl shell --init" knows which program it belongs to.
    answer=("${(@f)$(command "${__genv_program:-genvctl}" complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
    kind=${answer[1]-}
    case $kind in
    files)
        _files
        return
        ;;
    command\ *)
        # What is before the command's name is not the command's.
        shift $((${kind#command } + 1)) words
        ((CURRENT -= ${kind#command } + 1))
        _normal
        return
        ;;
    esac
    for line in "${(@)answer[2,-1]}"; do
        value=${line%%$'\t'*}
        [[ -n $value ]] || continue
        if [[ $line == *$'\t'* ]]; then
            described+=("${value//:/\\:}:${line#*$'\t'}")
        elif [[ $value == *= ]]; then
            plain+=("$value")
        else
            described+=("${value//:/\\:}")
        fi
    done
    if (($#plain)); then
        compadd -S '' -a plain
    fi
    if (($#described)); then
        _describe -V genvctl described
    fi
}

if [[ $funcstack[1] == _genvctl ]]; then
    _genvctl "$@"
fi
