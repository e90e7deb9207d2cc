import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import { engineNode } from './support/engines.ts'
import { scratchDirectory } from './support/scratch.ts'

const probe = fileURLToPath(new URL('./support/engine-probe.mjs', import.meta.url))

describe('the sessions of the embedded engine', () => {
  let said: Record<string, unknown>

  beforeAll(async () => {
    const directory = scratchDirectory()
    try {
      const { stdout } = await promisify(execFile)(engineNode, [probe, directory.path])
      said = JSON.parse(stdout)
    } finally {
      directory.remove()
    }
  })

  test('a session whose settings the engine ignored is refused', () => {
    expect(said.sessionSettings).toBe(
      'The engine ignored its settings: max_query_size is 262144, not 67108864.',
    )
    expect(said.sessionSettingsOnceSet).toBe('fine')
  })

  test('an engine that would not make rows durable is refused', () => {
    expect(said.durability).toBe('The engine ignored its settings: fsync_after_insert is 0, not 1.')
  })

  test('a session in which a query failed is spoiled', () => {
    expect(said).toMatchObject({ failure: true, spoiledBefore: false, spoiledAfter: true })
  })

  test('the output that a failed query left behind is never given to the next one', () => {
    expect(said.cleanSession).toEqual(['fine', 'fine'])
    expect(said.leftovers).toEqual(Array(3).fill('A session held the output of another query.'))
  })

  test('a session counts as closed when the engine has let go of it', () => {
    expect(said.order).toEqual(['query ended', 'session closed'])
  })
})
