#compdef genvctl genv
# SPDX-License-Identifier: LGPL-2.1-or-later
# Completes genvctl and genv in zsh. genvctl itself knows the candidates: "genvctl complete WORD..." prints a line that
# says who completes the word, and then one candidate a line, followed by a tab and its help.

_genvctl() {
    local kind line value
    local -i width
    local -a answer values helps shown plain expl
    # The shell function of "genvctl shell --init" sets the program to which it belongs.
    answer=("${(@f)$(command "${__genv_program:-genvctl}" complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
    kind=${answer[1]-}
    case $kind in
    files)
        _files
        return
        ;;
    command\ *)
        # Removes the words before the command's name, which do not belong to the command.
        shift $((${kind#command } + 1)) words
        ((CURRENT -= ${kind#command } + 1))
        _normal
        return
        ;;
    esac
    for line in "${(@)answer[2,-1]}"; do
        value=${line%%$'\t'*}
        [[ -n $value ]] || continue
        if [[ $value == *= ]]; then
            plain+=("$value")
        else
            values+=("$value")
            helps+=("${${line#$value}#$'\t'}")
        fi
    done
    if (($#plain)); then
        compadd -S '' -a plain
    fi
    if ((!$#values)); then
        return
    fi
    if [[ -z ${(j::)helps} ]]; then
        _wanted -V values expl genvctl compadd -a values
        return
    fi
    # _describe would put values with the same help on one line, in another order.
    for value in "${(@)values}"; do
        ((width = $#value > width ? $#value : width))
    done
    for value line in "${(@)values:^helps}"; do
        line="${(r:width:)value}  -- $line"
        shown+=("${line[1,COLUMNS - 1]}")
    done
    _wanted -V values expl genvctl compadd -l -d shown -a values
}

if [[ $funcstack[1] == _genvctl ]]; then
    _genvctl "$@"
fi
