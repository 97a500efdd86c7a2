# SPDX-License-Identifier: LGPL-2.1-or-later
# The first file that zsh reads for "genvctl run --login", which sets ZDOTDIR to this folder. It restores ZDOTDIR, so
# that all other start-up files are the user's. genvctl has put a line into the variable __genv_login, which activates
# the environment. That line runs before the first prompt, after all start-up files.
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
