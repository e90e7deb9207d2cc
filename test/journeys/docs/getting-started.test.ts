import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { freePort } from '../../support/network/free-port.ts'
import { scratchDirectory } from '../../support/scratch.ts'
import { isShown, readTranscript } from './transcript.ts'

const repository = fileURLToPath(new URL('../../..', import.meta.url))

const pageOf = (name: string) => readFileSync(new URL(`../../../docs/${name}`, import.meta.url), 'utf8')

test.each(['getting-started.md', 'guides/your-own-logs.md'])(
  'docs/%s shows what its commands really do',
  { timeout: 560_000 },
  async (name) => {
    const page = pageOf(name)
    const port = await freePort()
    const steps = readTranscript(page.replaceAll('127.0.0.1:4000', `127.0.0.1:${port}`))
    const directory = scratchDirectory()
    const script = steps.map(({ command }, index) => `${command}\nprintf '\\036%s\\n' ${index}\n`).join('')
    writeFileSync(join(directory.path, 'script'), script)
    const work = join(directory.path, 'work')
    mkdirSync(work)
    const [alias] = /(?<=^ {4})alias wellhead=.*$/m.exec(pageOf('getting-started.md')) as [string]
    const { HOME, PATH, TMPDIR, XDG_CACHE_HOME } = process.env
    const shell = spawn(
      'bash',
      ['-O', 'expand_aliases', '-c', `exec 2>&1; ${alias}; cd "$WORK"; . ../script`],
      {
        cwd: repository,
        // A group of its own, so that nothing it started is left.
        detached: true,
        stdio: ['ignore', 'pipe', 'inherit'],
        // A checkout finds or prepares its engine itself.
        env: { HOME, PATH, TMPDIR, XDG_CACHE_HOME, WORK: work, WELLHEAD_PORT: String(port) },
      },
    )
    try {
      const output = await text(shell.stdout)
      const outputs = output.split(/\x1e\d+\n/)
      for (const [index, { command, expected }] of steps.entries()) {
        const shown = outputs[index] ?? 'the shell ended before'
        // Compared as a text only where it does not match, to show how.
        if (!isShown(expected, shown)) expect(shown, command).toBe(expected)
      }
    } finally {
      try {
        process.kill(-(shell.pid as number), 'SIGKILL')
      } catch {
        // Everything has ended by itself.
      }
      directory.remove()
    }
  },
)
