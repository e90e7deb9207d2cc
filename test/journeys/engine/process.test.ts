import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { scratchDirectory } from '../../support/scratch.ts'

const starter = fileURLToPath(new URL('./engine-starter.mjs', import.meta.url))

describe('the process that a service starts for its engine', () => {
  const directory = scratchDirectory()
  const seen = (name: string) => readFileSync(join(directory.path, name), 'utf8')
  let said: string

  beforeAll(() => {
    const executable = join(directory.path, 'program')
    writeFileSync(
      executable,
      `#!/bin/sh\ncd '${directory.path}'\necho started >> starts\ncat >> input\nenv > environment\nexit 3\n`,
      { mode: 0o755 },
    )
    // What the service has on its own standard input must not be there for an INSERT to read.
    const run = spawnSync(process.execPath, [starter, executable], {
      input: 'a row on the standard input of the service\n',
      env: { ...process.env, WELLHEAD_ADMIN_TOKEN: 'secret-of-the-service', NODE_OPTIONS: '' },
      timeout: 30_000,
    })
    said = run.stdout.toString()
  })
  afterAll(() => directory.remove())

  test('has no standard input', () => {
    expect(seen('input')).toBe('')
  })

  test('has nothing of the environment but what it needs, and no secret', () => {
    const names = seen('environment')
      .trim()
      .split('\n')
      .map((line) => line.split('=')[0] as string)
    expect(names).toContain('UV_THREADPOOL_SIZE')
    expect(names).toContain('TZ')
    expect(names.filter((name) => name.startsWith('WELLHEAD_'))).toEqual([])
    expect(seen('environment')).not.toContain('secret-of-the-service')
  })

  test('has a thread for each session and some to spare', () => {
    expect(seen('environment')).toMatch(/^UV_THREADPOOL_SIZE=14$/m)
  })

  test('is started again when it ends, with the wait that its number in the row has', () => {
    expect(JSON.parse(said)).toEqual({
      kind: 'down',
      reason: 'The engine process ended (code 3).',
      restarts: 3,
    })
    expect(seen('starts')).toBe('started\n'.repeat(3))
  })
})
