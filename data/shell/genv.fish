# SPDX-License-Identifier: LGPL-2.1-or-later
# genv in fish: genvctl shell --init | source. It does the same as genv.bash, whose comments describe the common parts.
# The previous state of a variable is in __genv_kind_NAME and __genv_value_NAME, which is a list as in fish; the value
# that genv set is in __genv_now_NAME. While an environment is active, __genv_on_prompt handles the event fish_prompt,
# and, if there is a prefix, the function fish_prompt is wrapped. fish has no read-only variables of users.

set -q __genv_program; or set -g __genv_program genvctl

set -g __genv_names GENV_SHELL GENV_ENVIRONMENT_ID GENV_ENVIRONMENT_CREATED GENV_ENVIRONMENT_NAME GENV_GPU_MEMORY GENV_GPUS GENV_PROMPT \
    GENV_STATUS_FILE CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER

function genv
    if string match -q '/*' -- $__genv_program; and not test -x $__genv_program
        __genv_without_program $argv
        return
    end
    for __genv_word in $argv
        switch $__genv_word
            case '-*'
                continue
            case activate deactivate attach detach config shell
                __genv_call $argv
                return
        end
        break
    end
    command $__genv_program $argv
end

function genvctl
    genv $argv
end

function __genv_without_program
    if test "$argv" = deactivate -a -n "$GENV_ENVIRONMENT_ID"
        set -q __genv_folder; or set -l __genv_folder $__genv_shims
        __genv_leave "$__genv_folder"
        return 0
    end
    echo "genvctl: $__genv_program no longer exists" >&2
    echo 'Install genv again, or clean an active shell up with "genv deactivate".' >&2
    return 127
end

# The pipe is set up before the redirections, so descriptor 3 is the pipe and 4 the caller's output.
function __genv_call
    set -l __genv_code
    set -l __genv_status
    set -l __genv_options
    if set -q __genv_began
        set __genv_options --shell-began=$__genv_began
    end
    begin
        command $__genv_program --shell=fish --shell-pid=$fish_pid --shell-fd=3 $__genv_options $argv 3>&1 1>&4 | read -lz __genv_lines
        set __genv_status $pipestatus[1]
        set __genv_code $__genv_lines
    end 4>&1
    if test -n "$__genv_code"
        eval $__genv_code
    end
    return $__genv_status
end

function __genv_save
    set -q __genv_kind_$argv[1]; and return 0
    if set -qg $argv[1]
        set -g __genv_value_$argv[1] $$argv[1]
        if set -qgx $argv[1]
            set -g __genv_kind_$argv[1] exported
        else
            set -g __genv_kind_$argv[1] set
        end
    else
        set -g __genv_kind_$argv[1] unset
    end
end

function __genv_restore
    set -l __genv_kind __genv_kind_$argv[1]
    set -l __genv_value __genv_value_$argv[1]
    switch "$$__genv_kind"
        case exported
            set -gx $argv[1] $$__genv_value
        case set
            set -gu $argv[1] $$__genv_value
        case '*'
            set -eg $argv[1]
    end
    return 0
end

function __genv_set
    set -q __genv_shims; and __genv_save $argv[1]
    set -g __genv_now_$argv[1] $argv[2]
    set -gx $argv[1] $argv[2]
end

function __genv_unset
    set -q __genv_shims; and __genv_save $argv[1]
    set -eg __genv_now_$argv[1]
    set -eg $argv[1]
    return 0
end

function __genv_enter
    set -g __genv_prefix $argv[1]
    set -g __genv_shims $argv[2]
    set -g __genv_folder $argv[2]
    set -g __genv_guards yes
    set -g __genv_venv "$VIRTUAL_ENV"
    __genv_save PATH
    set -g PATH $argv[2] $PATH
    set -g __genv_path $PATH
    test -z "$argv[1]"; or __genv_set GENV_PROMPT $argv[1]
    __genv_wrap
    __genv_hook
end

function __genv_exit --on-event fish_exit
    set -l __genv_devices $__genv_now_CUDA_VISIBLE_DEVICES $CUDA_VISIBLE_DEVICES
    if status is-interactive; and set -q __genv_shims; and test "$__genv_devices[1]" != -1
        command $__genv_program --shell=fish --shell-pid=$fish_pid --shell-fd=3 shell --exiting 3>/dev/null
    end
end

function __genv_watch
    set -g __genv_file $argv[1]
    set -g __genv_seen $argv[2]
    set -g __genv_began (string split ' ' -- $argv[2])[-1]
end

function __genv_know
    set -ga __genv_known $argv[1]
end

function __genv_leave
    __genv_unhook
    __genv_unwrap
    for __genv_name in $__genv_names
        __genv_restore $__genv_name
    end
    if set -q __genv_path; and test "$(string join : -- $__genv_path)" = "$(string join : -- $PATH)"
        __genv_restore PATH
    else
        __genv_strip_path PATH $argv[1]
    end
    if set -q __genv_kind_LD_AUDIT
        __genv_restore LD_AUDIT
    else if contains -- $argv[1]/libgenv-nvml-filter.so (string split : -- "$LD_AUDIT")
        set -gx LD_AUDIT (string split : -- $LD_AUDIT)
        __genv_strip_path LD_AUDIT $argv[1]/libgenv-nvml-filter.so
        set -gx LD_AUDIT (string join : -- $LD_AUDIT)
        test -n "$LD_AUDIT"; or set -eg LD_AUDIT
    end
    if set -qg _OLD_VIRTUAL_PATH
        __genv_strip_path _OLD_VIRTUAL_PATH $argv[1]
    end
    for __genv_name in $__genv_names PATH LD_AUDIT
        set -eg __genv_kind_$__genv_name
        set -eg __genv_value_$__genv_name
        set -eg __genv_now_$__genv_name
    end
    for __genv_name in prefix shims folder guards said venv path file seen began known
        set -eg __genv_$__genv_name
    end
    return 0
end

function __genv_strip_path
    set -l __genv_list
    for __genv_folder in $$argv[1]
        test "$__genv_folder" = "$argv[2]"; or set -a __genv_list $__genv_folder
    end
    set -g $argv[1] $__genv_list
end

# Puts the prefix before the previous prompt. A virtual environment may keep a copy of this function. The copy prints no
# prefix after the environment was left.
function __genv_wrap
    test -n "$__genv_prefix"; and status is-interactive; or return 0
    functions -q fish_prompt; or return 0
    string match -q '*__genv_wrapped_prompt*' -- (functions fish_prompt); and return 0
    functions -e __genv_wrapped_prompt
    functions -c fish_prompt __genv_wrapped_prompt
    function fish_prompt
        set -l __genv_last $status
        if set -q __genv_prefix
            printf '%s' $__genv_prefix
        end
        __genv_return $__genv_last
        __genv_wrapped_prompt
    end
end

function __genv_unwrap
    functions -q __genv_wrapped_prompt; or return 0
    if string match -q '*__genv_wrapped_prompt*' -- (functions fish_prompt)
        functions -e fish_prompt
        functions -c __genv_wrapped_prompt fish_prompt
    else if functions -q _old_fish_prompt; and string match -q '*__genv_wrapped_prompt*' -- (functions _old_fish_prompt)
        # The function that an active virtual environment will restore when it is deactivated.
        functions -e _old_fish_prompt
        functions -c __genv_wrapped_prompt _old_fish_prompt
    end
    functions -e __genv_wrapped_prompt
    return 0
end

function __genv_return
    return $argv[1]
end

# A function that handles the event comes after those of other software that exist already.
function __genv_hook
    function __genv_on_prompt --on-event fish_prompt
        __genv_prompt
    end
end

function __genv_unhook
    functions -e __genv_on_prompt
    return 0
end

function __genv_prompt
    # At the first prompt: config.fish may define fish_prompt after it has read this code.
    if set -q __genv_inherits
        set -eg __genv_inherits
        set -g __genv_prefix $GENV_PROMPT
        __genv_wrap
    end
    if set -q __genv_shims; and test "$VIRTUAL_ENV" != "$__genv_venv"
        __genv_enter_again
    end
    if set -q __genv_shims; and set -q __genv_began; and test -z "$GENV_ENVIRONMENT_CREATED"
        and not set -q __genv_now_GENV_ENVIRONMENT_CREATED
        __genv_set GENV_ENVIRONMENT_CREATED $__genv_began
    end
    if set -q __genv_file
        __genv_look
    end
    if set -q __genv_guards
        __genv_guard
    end
end

function __genv_enter_again
    set -g __genv_venv "$VIRTUAL_ENV"
    set -q __genv_guards; or return 0
    contains -- $__genv_shims $PATH; or set -g PATH $__genv_shims $PATH
    if functions -q _old_fish_prompt; and string match -q '*__genv_wrapped_prompt*' -- (functions _old_fish_prompt)
        return 0 # the virtual environment's prompt shows it
    end
    __genv_wrap
end

function __genv_look
    set -l __genv_lines
    set -l __genv_say
    if test -r $__genv_file
        read -lz __genv_text <$__genv_file
        set __genv_lines (string split \n -- $__genv_text)
    end
    test "$__genv_lines[1]" = "$__genv_seen"; and return 0
    if not string match -q -- "* $__genv_began" "$__genv_lines[1]"; and not string match -q '* 0' -- "$__genv_lines[1]"
        set __genv_lines '0 0' -1
    end
    set -l __genv_since (string split ' ' -- $__genv_seen)[1]
    for __genv_line in $__genv_lines[3..-1]
        set -l __genv_words (string split -m 1 ' ' -- $__genv_line)
        string match -qr '^[0-9]+$' -- $__genv_words[1]; or continue
        test $__genv_words[1] -gt $__genv_since; or continue
        contains -- $__genv_words[1] $__genv_known; and continue
        test -z "$__genv_say"; or __genv_print $__genv_say
        set __genv_say $__genv_words[2]
    end
    set -g __genv_seen $__genv_lines[1]
    set -eg __genv_known
    if string match -q '* 0' -- $__genv_lines[1]
        if test -z "$__genv_say"
            set __genv_say "environment $GENV_ENVIRONMENT_ID has ended"
            if not set -q __genv_shims; and test -e $__genv_file; and not test -r $__genv_file
                set __genv_say "$__genv_say or belongs to another user"
            end
        end
        __genv_print "$__genv_say; clean this shell up with \"genv deactivate\""
        __genv_end
        return
    end
    if test "$CUDA_VISIBLE_DEVICES" != "$__genv_lines[2]"; and not __genv_is_chosen "$__genv_lines[2]"
        test -n "$__genv_say"; or set __genv_say "CUDA_VISIBLE_DEVICES is now $__genv_lines[2]"
        set -gx CUDA_VISIBLE_DEVICES $__genv_lines[2]
    end
    set -g __genv_now_CUDA_VISIBLE_DEVICES $__genv_lines[2]
    test -z "$__genv_say"; or __genv_print $__genv_say
end

function __genv_end
    set -eg __genv_file
    set -eg __genv_guards
    set -g __genv_now_CUDA_VISIBLE_DEVICES -1
    set -gx CUDA_VISIBLE_DEVICES -1
    set -eg __genv_prefix
    set -eg GENV_PROMPT
    __genv_unwrap
end

function __genv_is_chosen
    set -qgx CUDA_VISIBLE_DEVICES; and set -q __genv_now_CUDA_VISIBLE_DEVICES; or return 1
    test "$CUDA_VISIBLE_DEVICES" = "$__genv_now_CUDA_VISIBLE_DEVICES"; and return 1
    test "$CUDA_VISIBLE_DEVICES" = -1; and return 0
    set -l __genv_devices (string split , -- $argv[1])
    for __genv_each in (string split , -- "$CUDA_VISIBLE_DEVICES")
        contains -- "$__genv_each" $__genv_devices; and continue
        string match -qr '^(GPU|MIG)-.' -- "$__genv_each"; or return 1
        contains -- "$__genv_each" (string sub -l (string length -- "$__genv_each") -- $__genv_devices); or return 1
    end
end

function __genv_guard
    set -l __genv_lost
    for __genv_name in $__genv_names
        set -l __genv_now __genv_now_$__genv_name
        set -q $__genv_now; or continue
        if set -qgx $__genv_name; and test "$$__genv_name" = "$$__genv_now"
            continue
        end
        if test $__genv_name = CUDA_VISIBLE_DEVICES; and __genv_is_chosen "$$__genv_now"
            continue
        end
        set -gx $__genv_name $$__genv_now
        if test $__genv_name = CUDA_VISIBLE_DEVICES
            set -a __genv_lost $__genv_name=$$__genv_now
        else
            set -a __genv_lost $__genv_name
        end
    end
    if set -q __genv_folder; and not contains -- $__genv_folder $PATH
        set -g PATH $__genv_folder $PATH
        set -a __genv_lost PATH
    end
    if test "$__genv_lost" != "$__genv_said"
        test -z "$__genv_lost"; or __genv_print "restored variables that were changed or unset: $__genv_lost"
        set -g __genv_said $__genv_lost
    end
end

function __genv_print
    printf 'genv: %s\n' (string replace -ar '[\x00-\x1f\x7f-\x9f]' '?' -- $argv[1]) >&2
end

function __genv_inherit
    set -l __genv_lines '0 0'
    if test -r $GENV_STATUS_FILE
        read -lz __genv_text <$GENV_STATUS_FILE
        set __genv_lines (string split \n -- $__genv_text)
    end
    set -l __genv_since (string split ' ' -- $__genv_lines[1])[-1]
    test -z "$GENV_ENVIRONMENT_CREATED"; or set __genv_since $GENV_ENVIRONMENT_CREATED
    __genv_watch $GENV_STATUS_FILE "0 $__genv_since"
    if not string match -q '* 0' -- $__genv_lines[1]; and string match -q -- "* $__genv_began" $__genv_lines[1]
        set -g __genv_seen $__genv_lines[1]
        for __genv_name in $__genv_names
            set -q $__genv_name; and set -g __genv_now_$__genv_name $$__genv_name
        end
        set -g __genv_now_CUDA_VISIBLE_DEVICES $__genv_lines[2]
        set -l __genv_shims_folder (string match -r -- '.*/genv/shims(?:-[a-z]+)?$' $PATH)[1]
        test -z "$__genv_shims_folder"; or set -g __genv_folder $__genv_shims_folder
        set -g __genv_guards yes
    end
    test -z "$GENV_PROMPT"; or set -g __genv_inherits prefix
    __genv_hook
end

function __genv_preactivate
    set -l __genv_options
    if test -n "$GENV_PREACTIVATE_GPUS"
        set -a __genv_options --gpus $GENV_PREACTIVATE_GPUS
    end
    if test -n "$GENV_PREACTIVATE_ENVIRONMENT_NAME"
        set -a __genv_options --name $GENV_PREACTIVATE_ENVIRONMENT_NAME
    end
    if test "$GENV_PREACTIVATE_PROMPT" = 0
        set -a __genv_options --no-prompt
    end
    set -e GENV_PREACTIVATE
    set -e GENV_PREACTIVATE_GPUS
    set -e GENV_PREACTIVATE_ENVIRONMENT_NAME
    set -e GENV_PREACTIVATE_PROMPT
    genv activate $__genv_options
    return 0
end

function __genv_deinit
    if set -q __genv_shims
        genv deactivate; or __genv_leave $__genv_shims
    end
    for __genv_name in $__genv_names
        set -eg __genv_now_$__genv_name
    end
    for __genv_name in prefix folder guards said file seen began known inherits program names
        set -eg __genv_$__genv_name
    end
    functions -e genv genvctl (functions --all --names | string match '__genv_*')
end

if set -q __genv_shims; or set -q __genv_file
    __genv_hook
else
    if test -n "$GENV_ENVIRONMENT_ID"
        if status is-interactive; and test -n "$GENV_STATUS_FILE"
            __genv_inherit
        end
    else if test "$GENV_PREACTIVATE" = 1
        __genv_preactivate
    end
end
