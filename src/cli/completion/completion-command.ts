import { Argument, type Command } from 'commander'
import { z } from 'zod'
import type { CommandIo } from '../command-io.ts'
import { addExamples } from '../help.ts'
import { ServiceClient } from '../service-client.ts'
import { completedCommands } from './completed-commands.ts'
import { completionScript, shells } from './completion-scripts.ts'

/** Someone waits at a prompt. */
const maxWaitMs = 2_000

const help = `
Load it at the start of every shell:

  bash  echo 'source <(wellhead completion bash)' >> ~/.bashrc
  zsh   echo 'source <(wellhead completion zsh)' >> ~/.zshrc    (after compinit)
  fish  wellhead completion fish > ~/.config/fish/completions/wellhead.fish
`

export function addCompletionCommand(program: Command, io: CommandIo): void {
  const completion = program
    .command('completion')
    .description('print a script that completes commands, flags and names in a shell')
    .addArgument(new Argument('<shell>', 'the shell').choices(shells))
    .addHelpText('after', help)
    .action((shell: (typeof shells)[number]) =>
      io.stdout.write(completionScript(shell, completedCommands(program))),
    )
  addExamples(completion, 'source <(wellhead completion bash)')

  // For the scripts. Prints nothing if no service is reached.
  program
    .command('__names', { hidden: true })
    .addArgument(new Argument('<kind>').choices(['endpoints', 'sources']))
    .action(async (kind: string) => {
      const signal = AbortSignal.any([io.signal, AbortSignal.timeout(maxWaitMs)])
      const client = new ServiceClient({}, { ...io, signal })
      const named = z.array(z.looseObject({ name: z.string().regex(/^[\w.-]+$/) }))
      const found = await client.json('GET', `/api/${kind}`, named).catch(() => [])
      await io.stdout.write(found.map(({ name }) => `${name}\n`).join(''))
    })
}
