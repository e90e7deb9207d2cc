import { Argument, type Command } from 'commander'
import type { CommandIo } from '../command-io.ts'
import { addExamples } from '../help.ts'
import { completionScripts } from './completion-scripts.ts'

const help = `
Load it at the start of every shell:

  bash  echo 'source <(wellhead completion bash)' >> ~/.bashrc
  zsh   echo 'source <(wellhead completion zsh)' >> ~/.zshrc    (after compinit)
  fish  wellhead completion fish > ~/.config/fish/completions/wellhead.fish
`

export function defineCompletion(completion: Command, io: CommandIo): void {
  completion
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(completionScripts)))
    .addHelpText('after', help)
    .action((shell: keyof typeof completionScripts) => io.stdout.write(completionScripts[shell]))
  addExamples(completion, 'source <(wellhead completion bash)')
}
