# SPDX-License-Identifier: LGPL-2.1-or-later
# Completes genvctl and genv in fish. genvctl itself knows the candidates: "genvctl complete WORD..." prints a line that
# says who completes the word, and then one candidate a line, followed by a tab and its help, which is fish's own
# format.

function __genvctl_complete
    # The shell function of "genvctl shell --init" sets the program to which it belongs.
    set -l program genvctl
    set -q __genv_program; and set program $__genv_program
    set -l words (commandline -opc)
    set -l partial (commandline -ct)
    set -l answer (command $program complete $words[2..] "$partial" 2>/dev/null)
    or return
    switch "$answer[1]"
        case files
            __fish_complete_path $partial
        case 'command *'
            set -l first (math (string replace 'command ' '' -- $answer[1]) + 2)
            set -l rest
            test $first -le (count $words); and set rest (string escape -- $words[$first..])
            complete -C (string join ' ' -- $rest $partial)
        case '*'
            string join \n -- $answer[2..]
    end
end

complete -c genvctl -f -a '(__genvctl_complete)'
complete -c genv -f -a '(__genvctl_complete)'
