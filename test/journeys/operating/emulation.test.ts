import { execFile } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, describe, expect, test } from 'vitest'
import { createProgram } from '../../../src/cli/program.ts'
import { memoryIo } from '../../support/memory-io.ts'
import { scratchDirectory } from '../../support/scratch.ts'

const scripts = fileURLToPath(new URL('../../../scripts/', import.meta.url))
const from = async (path: string) => import(pathToFileURL(join(scripts, path)).href)

const { path: directory, remove } = scratchDirectory()
afterAll(remove)
const programs = join(directory, 'bin')
const cache = join(directory, 'cache')

/** The lines of a set-up that finds only the programs above, and its error. */
async function setUp(): Promise<string[]> {
  const module = pathToFileURL(join(scripts, 'emulation/emulated-engine.mjs')).href
  const program = `const { emulatedEngine } = await import('${module}')
    await emulatedEngine({ log: console.log }).catch(({ message }) => console.log(message))`
  const environment = { PATH: programs, XDG_CACHE_HOME: cache }
  const args = ['--input-type=module', '-e', program]
  const { stdout } = await promisify(execFile)(process.execPath, args, { env: environment })
  return stdout.trim().split('\n')
}

describe('the set-up of an emulated engine', () => {
  test('downloads nothing on a machine without apt', async () => {
    mkdirSync(programs)
    const [line = '', ...others] = await setUp()
    expect(line).toMatch(/cannot be emulated\. .*there is no apt-get.* Set WELLHEAD_CLICKHOUSE_URL/)
    expect(others).toEqual([])
    expect(existsSync(cache)).toBe(false)
  })

  test.runIf(existsSync('/usr/bin/apt-get'))(
    'that fails is not repeated before somebody asks for it',
    async () => {
      symlinkSync('/usr/bin/apt-get', join(programs, 'apt-get'))
      writeFileSync(join(programs, 'npm'), '#!/bin/sh\necho "the registry is away" >&2\nexit 1\n')
      chmodSync(join(programs, 'npm'), 0o755)
      const attempt = expect.stringContaining('1/2 installing')
      const first = await setUp()
      expect(first).toContainEqual(attempt)
      expect(first.join('\n')).toContain('the registry is away')
      const [mark = ''] = readdirSync(join(cache, 'wellhead'))
      const file = join(cache, 'wellhead', mark)

      const second = await setUp()
      expect(second).not.toContainEqual(attempt)
      expect(second.join('\n')).toContain(`To try again, remove ${file}. npm install`)
      expect(second.join('\n')).toContain('the registry is away')

      rmSync(file)
      expect(await setUp()).toContainEqual(attempt)
    },
  )
})

test('only commands that start an engine wait for one to be set up', async () => {
  const { needsEngine } = await from('engine-environment.mjs')
  const { commands } = await createProgram(memoryIo(), () => false)
  const needing = commands.map((command) => command.name()).filter((name) => needsEngine([name], {}))
  expect(needing).toEqual(['serve', 'import', 'check', 'test', 'restore', 'copy', 'doctor'])
  for (const line of [
    '',
    '--version',
    '--help',
    'help serve',
    'serve --help',
    'doctor --no-engine',
    'sql check',
  ]) {
    expect(needsEngine(line.split(' '), {}), line).toBe(false)
  }
  expect(needsEngine(['serve', '--clickhouse-url=http://127.0.0.1:8123'], {})).toBe(false)
  expect(needsEngine(['serve'], { WELLHEAD_CLICKHOUSE_URL: 'http://127.0.0.1:8123' })).toBe(false)
})

test('the loader of box64 removes an even number of words from the stack', async () => {
  const { box64 } = await from('emulation/box64.mjs')
  const [, words = ''] = /exec (.*?) \\?\s*"\$here\/box64\/usr\/bin\/box64"/s.exec(box64.wrappers[0]) ?? []
  expect(words.match(/"[^"]*"|[^\s"]+/g)).toHaveLength(4)
})

test('qemu is tried again without a base address, which some machines refuse', async () => {
  const { qemu } = await from('emulation/qemu.mjs')
  const [first = '', second = ''] = qemu.wrappers as string[]
  expect(first).toContain(' -B 0x800000000000 ')
  expect(second).toBe(first.replace(' -B 0x800000000000', ''))
})
