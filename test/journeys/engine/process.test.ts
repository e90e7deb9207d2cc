import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { scratchDirectory } from '../../support/scratch.ts'

const starter = fileURLToPath(new URL('./engine-starter.mjs', import.meta.url))

describe('the engine process', () => {
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
    // An INSERT must not be able to read the standard input of the service.
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

  test('gets no secrets from the environment', () => {
    const names = seen('environment')
      .trim()
      .split('\n')
      .map((line) => line.split('=')[0] as string)
    expect(names).toContain('TZ')
    expect(names.filter((name) => name.startsWith('WELLHEAD_'))).toEqual([])
    expect(seen('environment')).not.toContain('secret-of-the-service')
  })

  test('is the one that was launched ahead, and is restarted when it ends, with increasing delays', () => {
    expect(JSON.parse(said)).toEqual({
      node: 'embedded',
      ready: false,
      reason: 'The engine process ended (code 3).',
      restarts: 3,
    })
    expect(seen('starts')).toBe('started\n'.repeat(3))
  })
})
