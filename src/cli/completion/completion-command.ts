import { Argument, type Command } from 'commander'
import type { CommandIo } from '../command-io.ts'
import { addExamples } from '../help.ts'

/** Each script asks `wellhead __complete` for the words that fit. */
const completionScripts = {
  bash: `# Completion of wellhead for bash. Load it with: source <(wellhead completion bash)
_wellhead() {
  local current="\${COMP_WORDS[COMP_CWORD]}" IFS=$'\\n'
  local found=($(wellhead __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
  if [[ \${found[0]} == :files ]]; then
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen -f -- "$current"))
  else
    COMPREPLY=("\${found[@]%%$'\\t'*}")
  fi
}
complete -F _wellhead wellhead
`,
  zsh: `#compdef wellhead
# Completion of wellhead for zsh. Load it with: source <(wellhead completion zsh)
_wellhead() {
  local -a found
  found=("\${(@f)$(wellhead __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ $found[1] == :files ]]; then
    _files
  else
    found=("\${(@)found//:/\\\\:}")
    found=("\${(@)found/$'\\t'/:}")
    _describe wellhead found
  fi
}
if [[ "$funcstack[1]" == _wellhead ]]; then
  _wellhead "$@"
else
  compdef _wellhead wellhead
fi
`,
  fish: `# Completion of wellhead for fish. Load it with: wellhead completion fish | source
function __wellhead_complete
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  set -l found (wellhead __complete $words[2..] "$current" 2>/dev/null)
  if test "$found[1]" = :files
    __fish_complete_path "$current"
  else
    printf '%s\\n' $found
  end
end
complete -c wellhead -f -a '(__wellhead_complete)'
`,
}

export function defineCompletion(completion: Command, io: CommandIo): void {
  completion
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(completionScripts)))
    .action((shell: keyof typeof completionScripts) => io.stdout.write(completionScripts[shell]))
  addExamples(
    completion,
    "echo 'source <(wellhead completion bash)' >> ~/.bashrc",
    "echo 'source <(wellhead completion zsh)' >> ~/.zshrc    (after compinit)",
    'wellhead completion fish > ~/.config/fish/completions/wellhead.fish',
  )
}
