import { spawn } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { scratchDirectory } from '../../support/scratch.ts'
import { freePort } from './free-port.ts'
import { isShown, readTranscript } from './transcript.ts'

const main = fileURLToPath(new URL('../../../dist/main.js', import.meta.url))

test('docs/getting-started.md shows what its commands really do', { timeout: 560_000 }, async () => {
  const page = readFileSync(new URL('../../../docs/getting-started.md', import.meta.url), 'utf8')
  const port = await freePort()
  const steps = readTranscript(page.replaceAll('127.0.0.1:4000', `127.0.0.1:${port}`))
  const directory = scratchDirectory()
  const wellhead = join(directory.path, 'wellhead')
  writeFileSync(wellhead, `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`)
  chmodSync(wellhead, 0o755)
  const script = steps.map(({ command }, index) => `${command}\nprintf '\\036%s\\n' ${index}\n`).join('')
  writeFileSync(join(directory.path, 'script'), script)
  const work = join(directory.path, 'work')
  mkdirSync(work)
  const { WELLHEAD_ENGINE_NODE, WELLHEAD_ENGINE_PATIENCE, HOME } = process.env
  const shell = spawn('bash', ['-c', 'exec 2>&1; . ../script'], {
    cwd: work,
    // A group of its own, so that nothing it started is left.
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      HOME,
      PATH: `${directory.path}:${process.env.PATH}`,
      WELLHEAD_PORT: String(port),
      ...(WELLHEAD_ENGINE_NODE && { WELLHEAD_ENGINE_NODE }),
      ...(WELLHEAD_ENGINE_PATIENCE && { WELLHEAD_ENGINE_PATIENCE }),
    },
  })
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
})
