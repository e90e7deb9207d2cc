#compdef wellhead
# Completion of wellhead for zsh. Load it with: source <(wellhead completion zsh)
_wellhead() {
  local -a found
  found=("${(@f)$(wellhead __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ $found[1] == :files ]]; then
    _files
  else
    found=("${(@)found//:/\\:}")
    found=("${(@)found/$'\t'/:}")
    _describe wellhead found
  fi
}
if [[ "$funcstack[1]" == _wellhead ]]; then
  _wellhead "$@"
else
  compdef _wellhead wellhead
fi
