"""Completion scripts for Bash, Zsh and fish. Each asks `bascule __complete` for the words, so that a new version needs
no new script."""

HIDDEN = "__complete"
"""The word with which a shell asks."""

BASH = r"""# Completion of `bascule` for Bash. Put this into ~/.bashrc:  eval "$(bascule completion bash)"
_bascule_paths() {
    local path
    compopt -o filenames 2>/dev/null
    while IFS= read -r path; do COMPREPLY+=("$path"); done < <(compgen "$1" -- "$2")
}
_bascule() {
    local program=${COMP_WORDS[0]/#\~/$HOME} current=${COMP_WORDS[COMP_CWORD]} line
    [[ $current == "=" ]] && current=
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
            :files) _bascule_paths -f "$current" ;;
            :folders) _bascule_paths -d "$current" ;;
            *) COMPREPLY+=("$line") ;;
        esac
    done < <("$program" __complete bash "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _bascule bascule
"""

ZSH = r"""#compdef bascule
# Completion of `bascule` for Zsh. Put this into ~/.zshrc, after compinit:  eval "$(bascule completion zsh)"
_bascule() {
    local line
    local -a found
    for line in "${(@f)$(${~words[1]} __complete zsh "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
        case $line in
            '') ;;
            :files) compset -P '--*='; _files ;;
            :folders) compset -P '--*='; _files -/ ;;
            *$'\t'*) found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
            *) found+=("${line//:/\\:}") ;;
        esac
    done
    (( $#found )) && _describe -t words bascule found
}
if [[ $funcstack[1] == _bascule ]]; then _bascule "$@"; else compdef _bascule bascule; fi
"""

FISH = r"""# Completion of `bascule` for fish. Once:  bascule completion fish > ~/.config/fish/completions/bascule.fish
function __bascule_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    for line in ($words[1] __complete fish $words[2..-1] "$current" 2>/dev/null)
        switch $line
            case ':files'
                __fish_complete_path "$current"
            case ':folders'
                __fish_complete_directories "$current"
            case '*'
                printf '%s\n' $line
        end
    end
end
complete -c bascule -f -a '(__bascule_complete)'
"""

SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}
