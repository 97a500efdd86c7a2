# SPDX-License-Identifier: LGPL-2.1-or-later
# What zsh reads first for "genvctl run --login", which points ZDOTDIR here. ZDOTDIR becomes what it was, so that all other
# start files are the person's; the line that genvctl has put into the variable __genv_login, which activates the
# environment, is run before the first prompt, when they all have been read.
if [[ -v __genv_zdotdir ]]; then
    ZDOTDIR=$__genv_zdotdir
    unset __genv_zdotdir
else
    unset ZDOTDIR
fi
typeset -g +x __genv_login

__genv_login() {
    precmd_functions=("${(@)precmd_functions:#__genv_login}")
    (( $#precmd_functions )) || unset precmd_functions
    unfunction __genv_login
    {
        eval "$__genv_login"
    } always {
        unset __genv_login
    }
}
typeset -ga precmd_functions
precmd_functions+=(__genv_login)

if [[ -r ${ZDOTDIR-$HOME}/.zshenv ]]; then
    . "${ZDOTDIR-$HOME}/.zshenv"
fi
