import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import { engineNode, many } from '../../support/engines.ts'
import { scratchDirectory } from '../../support/scratch.ts'

/** Runs a script with the engine's Node on a new directory. */
async function probe(script: string, ...given: string[]) {
  const directory = scratchDirectory()
  try {
    const path = fileURLToPath(new URL(`./${script}`, import.meta.url))
    const { stdout } = await promisify(execFile)(engineNode, [path, directory.path, ...given])
    return JSON.parse(stdout)
  } finally {
    directory.remove()
  }
}

describe('the sessions of the embedded engine', () => {
  let said: Record<string, unknown>

  beforeAll(async () => {
    said = await probe('engine-probe.mjs')
  })

  test('a session is refused if the engine ignored its settings', () => {
    expect(said.sessionSettings).toBe(
      'The engine ignored its settings: max_query_size is 262144, not 67108864.',
    )
    expect(said.sessionSettingsOnceSet).toBe('fine')
  })

  test('an engine is refused if it does not sync inserts', () => {
    expect(said.durability).toBe('The engine ignored its settings: fsync_after_insert is 0, not 1.')
  })

  test('a failed query spoils its session', () => {
    expect(said).toMatchObject({ failure: true, spoiledBefore: false, spoiledAfter: true })
  })

  test('the next query never gets the leftover output of a failed one', () => {
    expect(said.cleanSession).toEqual(['fine', 'fine'])
    expect(said.leftovers).toEqual(Array(3).fill('The session has output of another query.'))
  })

  test('a session is closed when the engine has freed it', () => {
    expect(said.order).toEqual(['query ended', 'session closed'])
  })
})

test('a value bound into the statement equals a parameter of the engine, byte for byte', async () => {
  const { compared, strings, left, differences } = await probe(
    'bound-values-probe.mjs',
    String(many(5000, 100)),
  )
  expect(differences).toEqual([])
  expect(left).toEqual([])
  expect(compared).toBeGreaterThan(many(3000, 40))
  expect(strings).toBeGreaterThan(2)
})
