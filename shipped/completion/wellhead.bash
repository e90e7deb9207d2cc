# Completion of wellhead for bash. Load it with: source <(wellhead completion bash)
_wellhead() {
  local current="${COMP_WORDS[COMP_CWORD]}" IFS=$'\n'
  local found=($(wellhead __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
  if [[ ${found[0]} == :files ]]; then
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen -f -- "$current"))
  else
    COMPREPLY=("${found[@]%%$'\t'*}")
  fi
}
complete -F _wellhead wellhead
