import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { CommandFailure, usageFailure } from './command-failure.ts'
import type { CommandIo } from './command-io.ts'
import { visible } from './output/text-width.ts'

/** Asks a person before something is gone; a script has to say --yes. */
export async function confirm(io: CommandIo, question: string, yes: boolean | undefined): Promise<void> {
  if (yes) return
  if (!io.stdinIsTerminal) throw usageFailure(`${question} Say so with --yes.`)
  const output = new Writable({
    write: (text, _encoding, done) => void io.stderr.write(text).then(() => done()),
  })
  const lines = createInterface({ input: io.stdin, output })
  try {
    // An input that ends without an answer says no.
    const ended = new Promise<string>((resolve) => lines.once('close', () => resolve('')))
    const asked = lines.question(`${visible(question)} [y/N] `, { signal: io.signal })
    const answer = await Promise.race([asked, ended])
    if (!/^y(es)?$/i.test(answer.trim())) throw new CommandFailure('Nothing was changed.')
  } finally {
    lines.close()
  }
}
