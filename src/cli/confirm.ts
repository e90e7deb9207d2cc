import { Writable } from 'node:stream'
import { CommandFailure, usageFailure } from './command-failure.ts'
import type { CommandIo } from './command-io.ts'
import { visible } from './output/visible.ts'

export async function confirm(io: CommandIo, warning: string, yes: boolean | undefined): Promise<void> {
  if (yes) return
  if (!io.stdinIsTerminal) throw usageFailure(`${warning} Confirm with --yes.`)
  // Few commands ask.
  const { createInterface } = await import('node:readline/promises')
  const output = new Writable({
    write: (text, _encoding, done) => void io.stderr.write(text).then(() => done()),
  })
  const lines = createInterface({ input: io.stdin, output })
  try {
    // The end of the input counts as "no".
    const ended = new Promise<string>((resolve) => lines.once('close', () => resolve('')))
    const question = lines.question(`${visible(warning)} Continue? [y/N] `, { signal: io.signal })
    const answer = await Promise.race([question, ended])
    if (!/^y(es)?$/i.test(answer.trim())) throw new CommandFailure('Nothing was changed.')
  } finally {
    lines.close()
  }
}
