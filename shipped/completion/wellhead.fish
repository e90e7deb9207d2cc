# Completion of wellhead for fish. Load it with: wellhead completion fish | source
function __wellhead_complete
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  set -l found (wellhead __complete $words[2..] "$current" 2>/dev/null)
  if test "$found[1]" = :files
    __fish_complete_path "$current"
  else
    printf '%s\n' $found
  end
end
complete -c wellhead -f -a '(__wellhead_complete)'
