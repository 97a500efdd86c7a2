# SPDX-License-Identifier: LGPL-2.1-or-later
# genv in zsh: eval "$(genvctl shell --init)". It does the same as genv.bash, whose comments describe the common parts.
# genvctl prints it so that zsh's default options apply to it, whatever options the shell has. __genv_prompt is in
# precmd_functions while an environment is active.

: "${__genv_program:=genvctl}"

typeset -ga __genv_names
__genv_names=(GENV_SHELL GENV_ENVIRONMENT_ID GENV_ENVIRONMENT_CREATED GENV_ENVIRONMENT_NAME GENV_GPU_MEMORY GENV_GPUS GENV_PROMPT
    GENV_STATUS_FILE CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER)

if [[ ${(t)__genv_state-} != association* || ${(t)__genv_value-} != association* ]]; then
    unset __genv_state __genv_value
    typeset -gA __genv_state __genv_value
fi

genv() {
    emulate -L zsh
    local __genv_word
    for __genv_word in "$@"; do
        case $__genv_word in
        -*) ;;
        activate | deactivate | attach | detach | config | shell)
            __genv_call "$@"
            return
            ;;
        *) break ;;
        esac
    done
    command "$__genv_program" "$@"
}

genvctl() { genv "$@" }

__genv_call() {
    emulate -L zsh
    local __genv_code __genv_pid=$$ __genv_began=${__genv_state[began]-}
    integer __genv_status=0 __genv_output
    # In a subshell, $$ is still the PID of the main shell.
    if zmodload -F zsh/system p:sysparams 2>/dev/null; then
        __genv_pid=${sysparams[pid]:-$$}
    fi
    if [[ -e /dev/fd/1 ]]; then
        exec {__genv_output}>&1
    else
        exec {__genv_output}>/dev/null
    fi
    __genv_code=$(
        integer __genv_channel
        exec {__genv_channel}>&1 1>&$__genv_output
        exec {__genv_output}>&-
        exec "$__genv_program" --shell=zsh --shell-pid=$__genv_pid --shell-fd=$__genv_channel \
            ${__genv_began:+--shell-began=$__genv_began} "$@"
    ) || __genv_status=$?
    exec {__genv_output}>&-
    eval "$__genv_code"
    return $__genv_status
}

__genv_save() {
    emulate -L zsh
    if (( ${+__genv_state[$1]} )); then
        return 0
    fi
    if [[ ! -v $1 ]]; then
        __genv_state[$1]=unset
        return 0
    fi
    __genv_value[$1]=${(P)1}
    if [[ ${(Pt)1} == *-export* ]]; then
        __genv_state[$1]=exported
    else
        __genv_state[$1]=set
    fi
}

__genv_restore() {
    emulate -L zsh
    case ${__genv_state[$1]-unset} in
    exported) typeset -gx -- "$1=${__genv_value[$1]}" ;;
    set)
        typeset -g -- "$1=${__genv_value[$1]}"
        typeset -g +x -- "$1"
        ;;
    *) unset "$1" ;;
    esac
}

__genv_set() {
    emulate -L zsh
    __genv_save "$1"
    typeset -gx -- "$1=$2"
}

__genv_unset() {
    emulate -L zsh
    __genv_save "$1"
    unset "$1"
}

__genv_enter() {
    emulate -L zsh
    __genv_state[prefix]=$1
    __genv_state[shims]=$2
    __genv_state[venv]=${VIRTUAL_ENV-}
    __genv_save PATH
    PATH=$2${PATH:+:$PATH}
    __genv_state[PATH.now]=$PATH
    if [[ -n $1 ]]; then
        __genv_set GENV_PROMPT "$1"
        __genv_mark_prompt
    fi
    __genv_hook
    __genv_trap
}

__genv_trap() {
    emulate -L zsh
    if [[ ! -v zshexit_functions ]]; then
        __genv_state[zshexit]=unset
    fi
    typeset -ga zshexit_functions
    if (( ! ${zshexit_functions[(Ie)__genv_exit]} )); then
        zshexit_functions+=(__genv_exit)
    fi
}

__genv_untrap() {
    emulate -L zsh
    if [[ ! -v zshexit_functions ]]; then
        return 0
    fi
    zshexit_functions=("${(@)zshexit_functions:#__genv_exit}")
    if [[ ${__genv_state[zshexit]-} == unset && ${#zshexit_functions} -eq 0 ]]; then
        unset zshexit_functions
    fi
}

__genv_exit() {
    emulate -L zsh
    if [[ -o interactive && -n ${__genv_state[shims]-} && ${CUDA_VISIBLE_DEVICES--1} != -1 ]]; then
        command "$__genv_program" --shell=zsh --shell-pid=$$ --shell-fd=3 shell --exiting 3>/dev/null || :
    fi
}

__genv_mark_prompt() {
    emulate -L zsh
    if [[ -v PS1 ]]; then
        __genv_save PS1
        PS1=${__genv_state[prefix]}$PS1
        __genv_state[PS1.now]=$PS1
    fi
}

# At the first prompt: start-up files may set the prompt after they have read this code.
__genv_inherit_prefix() {
    emulate -L zsh
    __genv_state[inherits]=""
    if [[ -n ${GENV_PROMPT-} && ${PS1-} != *"$GENV_PROMPT"* ]]; then
        __genv_state[prefix]=$GENV_PROMPT
        __genv_mark_prompt
    fi
}

__genv_watch() {
    emulate -L zsh
    __genv_state[file]=$1
    __genv_state[seen]=$2
    __genv_state[began]=${2##* }
}

__genv_know() {
    emulate -L zsh
    __genv_state[known]+=" $1 "
}

__genv_leave() {
    emulate -L zsh
    local __genv_name
    __genv_unhook
    __genv_untrap
    for __genv_name in $__genv_names; do
        __genv_restore $__genv_name
    done
    if (( ${+__genv_state[PATH.now]} )) && [[ ${PATH-} == "${__genv_state[PATH.now]}" ]]; then
        __genv_restore PATH
    else
        __genv_strip_path PATH "$1"
    fi
    if (( ${+__genv_state[LD_AUDIT]} )); then
        __genv_restore LD_AUDIT
    elif [[ :${LD_AUDIT-}: == *":$1/libgenv-nvml-filter.so:"* ]]; then
        __genv_strip_path LD_AUDIT "$1/libgenv-nvml-filter.so"
        [[ -n $LD_AUDIT ]] || unset LD_AUDIT
    fi
    if [[ -v _OLD_VIRTUAL_PATH ]]; then
        __genv_strip_path _OLD_VIRTUAL_PATH "$1"
    fi
    if (( ${+__genv_state[PS1.now]} )); then
        if [[ ${PS1-} == "${__genv_state[PS1.now]}" ]]; then
            __genv_restore PS1
        else
            PS1=${PS1/"${__genv_state[prefix]}"/}
        fi
        if [[ -v _OLD_VIRTUAL_PS1 ]]; then
            _OLD_VIRTUAL_PS1=${_OLD_VIRTUAL_PS1/"${__genv_state[prefix]}"/}
        fi
    fi
    __genv_state=()
    __genv_value=()
}

__genv_strip_path() {
    emulate -L zsh
    local __genv_list=:${(P)1}:
    while [[ $__genv_list == *":$2:"* ]]; do
        __genv_list=${__genv_list/":$2:"/:}
    done
    __genv_list=${__genv_list#:}
    typeset -g -- "$1=${__genv_list%:}"
}

__genv_hook() {
    emulate -L zsh
    if [[ ! -v precmd_functions ]]; then
        __genv_state[precmd]=unset
    fi
    typeset -ga precmd_functions
    if (( ! ${precmd_functions[(Ie)__genv_prompt]} )); then
        precmd_functions+=(__genv_prompt)
    fi
}

__genv_unhook() {
    emulate -L zsh
    if [[ ! -v precmd_functions ]]; then
        return 0
    fi
    precmd_functions=("${(@)precmd_functions:#__genv_prompt}")
    if [[ ${__genv_state[precmd]-} == unset && ${#precmd_functions} == 0 ]]; then
        unset precmd_functions
    fi
}

__genv_prompt() {
    emulate -L zsh
    if [[ -n ${__genv_state[inherits]-} ]]; then
        __genv_inherit_prefix
    fi
    if [[ -n ${__genv_state[shims]-} && ${VIRTUAL_ENV-} != "${__genv_state[venv]-}" ]]; then
        __genv_enter_again
    fi
    if [[ -n ${__genv_state[shims]-} && -n ${__genv_state[began]-} && -z ${GENV_ENVIRONMENT_CREATED-} ]]; then
        __genv_stamp
    fi
    if [[ -n ${__genv_state[file]-} ]]; then
        __genv_look
    fi
    return 0
}

__genv_stamp() {
    emulate -L zsh
    __genv_set GENV_ENVIRONMENT_CREATED "${__genv_state[began]}"
}

__genv_enter_again() {
    emulate -L zsh
    __genv_state[venv]=${VIRTUAL_ENV-}
    if [[ :${PATH-}: != *":${__genv_state[shims]}:"* ]]; then
        PATH=${__genv_state[shims]}${PATH:+:$PATH}
    fi
    if (( ${+__genv_state[PS1.now]} )) && [[ ${PS1-} != *"${__genv_state[prefix]}"* ]]; then
        PS1=${__genv_state[prefix]}${PS1-}
    fi
}

__genv_look() {
    emulate -L zsh
    local __genv_line __genv_say="" __genv_seen=${__genv_state[seen]%% *} __genv_file=${__genv_state[file]}
    local -a __genv_lines
    if [[ -r $__genv_file ]]; then
        while (( $#__genv_lines < 16 )) && IFS= read -r __genv_line; do
            # Each byte is a system call here, so only the first line is read if the file contains nothing new.
            if [[ $#__genv_lines -eq 0 && $__genv_line == "${__genv_state[seen]}" ]]; then
                return 0
            fi
            __genv_lines+=("$__genv_line")
        done 2>/dev/null <$__genv_file
    fi
    if [[ ${__genv_lines[1]-} != *" ${__genv_state[began]}" && ${__genv_lines[1]-} != *" 0" ]]; then
        __genv_lines=("0 0" -1)
    fi
    for __genv_line in "${(@)__genv_lines[3,-1]}"; do
        if [[ $__genv_line == <->\ * && ${__genv_state[known]-} != *" ${__genv_line%% *} "* ]] &&
            (( ${__genv_line%% *} > __genv_seen )); then
            [[ -z $__genv_say ]] || __genv_print "$__genv_say"
            __genv_say=${__genv_line#* }
        fi
    done
    if [[ ${__genv_lines[1]} == *" 0" ]]; then
        __genv_say="${__genv_say:-environment ${GENV_ENVIRONMENT_ID-} has ended}; clean this shell up with \"genv deactivate\""
        __genv_state[file]=""
    elif [[ -z $__genv_say && ${CUDA_VISIBLE_DEVICES-} != "${__genv_lines[2]-}" ]]; then
        __genv_say="CUDA_VISIBLE_DEVICES is now ${__genv_lines[2]-}"
    fi
    [[ -z $__genv_say ]] || __genv_print "$__genv_say"
    __genv_state[seen]=${__genv_lines[1]}
    __genv_state[known]=""
    typeset -gx CUDA_VISIBLE_DEVICES="${__genv_lines[2]--1}"
}

__genv_print() {
    emulate -L zsh
    print -ru2 -- "genv: ${1//[^[:print:]]/?}"
}

__genv_inherit() {
    emulate -L zsh
    local __genv_line="0 0"
    if [[ -r $GENV_STATUS_FILE ]]; then
        read -r __genv_line <$GENV_STATUS_FILE
    fi
    __genv_watch "$GENV_STATUS_FILE" "0 ${GENV_ENVIRONMENT_CREATED:-${__genv_line##* }}"
    if [[ $__genv_line != *" 0" && $__genv_line == *" ${__genv_state[began]}" ]]; then
        __genv_state[seen]=$__genv_line
    fi
    __genv_state[inherits]=prefix
    __genv_hook
}

__genv_preactivate() {
    emulate -L zsh
    local -a __genv_options
    if [[ -n ${GENV_PREACTIVATE_GPUS-} ]]; then
        __genv_options+=(--gpus "$GENV_PREACTIVATE_GPUS")
    fi
    if [[ -n ${GENV_PREACTIVATE_ENVIRONMENT_NAME-} ]]; then
        __genv_options+=(--name "$GENV_PREACTIVATE_ENVIRONMENT_NAME")
    fi
    if [[ ${GENV_PREACTIVATE_PROMPT-1} == 0 ]]; then
        __genv_options+=(--no-prompt)
    fi
    unset GENV_PREACTIVATE GENV_PREACTIVATE_GPUS GENV_PREACTIVATE_ENVIRONMENT_NAME GENV_PREACTIVATE_PROMPT
    genv activate "${__genv_options[@]}" || :
}

__genv_deinit() {
    emulate -L zsh
    if [[ -n ${__genv_state[shims]-} ]]; then
        genv deactivate || __genv_leave "${__genv_state[shims]}"
    fi
    __genv_unhook
    unset __genv_program __genv_names __genv_state __genv_value
    unfunction genv genvctl
    unfunction -m '__genv_*'
}

if (( ${#__genv_state} == 0 )); then
    if [[ -n ${GENV_ENVIRONMENT_ID-} ]]; then
        if [[ -o interactive && -n ${GENV_STATUS_FILE-} ]]; then
            __genv_inherit
        fi
    elif [[ ${GENV_PREACTIVATE-} == 1 ]]; then
        __genv_preactivate
    fi
fi
