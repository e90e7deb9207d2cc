import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { scratchDirectory } from '../../../test/support/scratch.ts'

test('shows the position in the source of a file that has a map', () => {
  const directory = scratchDirectory()
  onTestFinished(() => directory.remove())
  const bundle = join(directory.path, 'bundle.js')
  writeFileSync(join(directory.path, 'package.json'), '{"type":"module"}')
  writeFileSync(bundle, 'const fail = () => { throw new TypeError("no") }\nfail()\n')
  // The first line is line 2 of the source, and the second line is line 8.
  const map = { version: 3, sources: ['src/original.ts'], names: [], mappings: 'AACA;AAMA' }
  writeFileSync(`${bundle}.map`, JSON.stringify(map))
  const program = `
    const { showSourcePositions } = await import(${JSON.stringify(new URL('../../../build/core/base/source-positions.js', import.meta.url))})
    showSourcePositions()
    await import(${JSON.stringify(bundle)}).catch((error) => console.log(error.stack))`
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' })
  const [message, first, second] = stdout.split('\n')
  expect(message).toBe('TypeError: no')
  expect(first).toContain('original.ts:2:')
  expect(second).toContain('original.ts:8:')
})
