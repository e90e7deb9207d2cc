import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'

const page = readFileSync(new URL('../../../docs/architecture.md', import.meta.url), 'utf8')
const source = /`(src\/[^`]+\.ts)`/g

/** Text below a heading of docs/architecture.md. */
const section = (heading: string) =>
  page.split(/^## /m).find((text) => text.startsWith(`${heading}\n`)) as string
const named = (heading: string) => [...section(heading).matchAll(source)].map(([, file]) => file as string)
const numbered = (heading: string) =>
  [...section(heading).matchAll(/^\d+\. `([^`]+)`/gm)].map(([, file]) => file as string)

/** How parts are put together, and what all of them use. */
const everywhere = /^src\/(?:app\.ts|core\.ts|core\/base\/.+|features\/\w+\/open\.ts)$/

describe('the walks name the files that run', () => {
  let ran: Record<'request' | 'entry' | 'deployment', string[]>
  beforeAll(async () => {
    const script = fileURLToPath(new URL('files-run.mjs', import.meta.url))
    const { stdout } = await promisify(execFile)(process.execPath, [script], { maxBuffer: 2 ** 24 })
    ran = JSON.parse(stdout)
  })

  test('an uncached call runs the files of its walk, and no others', () => {
    expect(numbered('An uncached call').filter((file) => !ran.request.includes(file))).toEqual([])
    expect(
      ran.request.filter((file) => !everywhere.test(file) && !named('An uncached call').includes(file)),
    ).toEqual([])
  })

  test('an entry runs the files of its walk, and no others', () => {
    // The body is too small for a worker, and an interface has nothing to run.
    const others = ['src/core/intake/decoder-worker.ts', 'src/core/engine/engine.ts']
    expect(numbered('An entry').filter((file) => !ran.entry.includes(file))).toEqual(others)
    const known = [...named('An uncached call'), ...named('An entry')]
    expect(ran.entry.filter((file) => !everywhere.test(file) && !known.includes(file))).toEqual([])
  })

  test('a deployment runs the files of its walk', () => {
    expect(numbered('Saving an endpoint').filter((file) => !ran.deployment.includes(file))).toEqual([])
  })
})
