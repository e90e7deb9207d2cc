import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { allKinds, loadKinds } from '../../kinds.ts'
import { batchesOf, type CatalogRecord, CatalogState, entriesOfBatch } from './catalog-state.ts'

await loadKinds()

const namesOf = (kind: string, body: unknown) =>
  (allKinds()
    .find(({ name }) => name === kind)
    ?.namesOf?.(body as never) ?? []) as string[]

const ids = ['a', 'b', 'c', 'd']

let entries = 0

function record(id: string, version: number, name: string, more: Partial<CatalogRecord> = {}): CatalogRecord {
  return {
    entry: `entry ${++entries}`,
    kind: 'source',
    id,
    version,
    changed_at: '2026-01-01T00:00:00.000Z',
    changed_by: 'somebody',
    deleted: false,
    body: { name, aliases: [] },
    ...more,
  }
}

function stateOf(...records: CatalogRecord[]) {
  const state = new CatalogState(namesOf)
  const verdicts = batchesOf(records).map((batch) => state.apply(...batch))
  return { state, accepted: verdicts.map((verdict) => verdict.accepted), verdicts }
}

/** The id and version of everything that exists. */
function existing(state: CatalogState): string[] {
  return ids.flatMap((id) => {
    const current = state.current('source', id)
    return current ? [`${id}${current.version}`] : []
  })
}

function together(...records: CatalogRecord[]): CatalogRecord[] {
  const names = entriesOfBatch(`batch ${++entries}`, records.length)
  return records.map((each, index) => ({ ...each, entry: names[index] as string }))
}

describe('the catalog', () => {
  test('knows the newest version and the number of what exists', () => {
    const gone = record('b', 2, 'two', { deleted: true })
    const { state } = stateOf(record('a', 1, 'one'), record('b', 1, 'two'), record('a', 2, 'uno'))
    expect([existing(state), state.count('source')]).toEqual([['a2', 'b1'], 2])
    expect(state.current('endpoint', 'a')).toBeUndefined()
    state.apply(gone)
    expect([existing(state), state.count('source'), state.count('endpoint')]).toEqual([['a2'], 1, 0])
  })

  test('accepts what follows old versions that were removed from the log', () => {
    const { state, accepted } = stateOf(record('a', 7, 'x'), record('a', 9, 'x'), record('a', 9, 'y'))
    expect([accepted, existing(state)]).toEqual([[true, true, false], ['a9']])
    expect([10, 9, 11].map((version) => state.judge(record('a', version, 'x')).accepted)).toEqual([
      true,
      false,
      false,
    ])
  })

  test('gives a name to the first claim', () => {
    const { state, verdicts } = stateOf(record('a', 1, 'name'), record('b', 1, 'name'))
    expect(verdicts).toEqual([{ accepted: true }, { accepted: false, because: 'name', name: 'name' }])
    expect(state.current('source', 'b')).toBeUndefined()
  })

  test('reserves the aliases of a source, but not for other kinds', () => {
    const aliased = record('a', 1, 'one', { body: { name: 'one', aliases: ['other'] } })
    const endpoint = record('c', 1, '', { kind: 'endpoint', body: { definition: { name: 'one' } } })
    expect(stateOf(aliased, record('b', 1, 'other'), endpoint).accepted).toEqual([true, false, true])
  })

  test('accepts one of two changes with the same version', () => {
    const { state, accepted } = stateOf(record('a', 1, 'x'), record('a', 2, 'mine'), record('a', 2, 'yours'))
    expect(accepted).toEqual([true, true, false])
    expect(state.current('source', 'a')?.names).toEqual(['mine'])
  })

  test('frees the names of deleted and renamed records, and accepts nothing after a deletion', () => {
    const gone = record('a', 2, 'name', { deleted: true })
    expect(stateOf(record('a', 1, 'name'), gone, record('b', 1, 'name')).accepted).toEqual([true, true, true])
    expect(stateOf(record('a', 1, 'name'), gone, record('a', 3, 'name')).accepted[2]).toBe(false)
    expect(stateOf(record('a', 1, 'x'), record('a', 2, 'y'), record('b', 1, 'x')).accepted[2]).toBe(true)
  })

  test('accepts a batch atomically', () => {
    const first = [record('a', 1, 'x'), record('b', 1, 'y')]
    const good = stateOf(...first, ...together(record('a', 2, 'x'), record('c', 1, 'z')))
    expect(good.accepted).toEqual([true, true, true])
    expect(existing(good.state)).toEqual(['a2', 'b1', 'c1'])
    for (const bad of [record('a', 1, 'x'), record('d', 1, 'y'), record('c', 2, 'z'), record('d', 1, 'z')]) {
      const { state, accepted } = stateOf(
        ...first,
        ...together(record('c', 1, 'z'), record('b', 2, 'y'), bad),
      )
      expect(accepted).toEqual([true, true, false])
      expect(existing(state)).toEqual(['a1', 'b1'])
    }
  })

  test('lets records of one batch exchange names', () => {
    const first = [record('a', 1, 'x'), record('b', 1, 'y')]
    const { state, accepted } = stateOf(...first, ...together(record('a', 2, 'y'), record('b', 2, 'x')))
    expect(accepted).toEqual([true, true, true])
    expect(stateOf(...first, ...together(record('a', 2, 'y'), record('b', 2, 'y'))).accepted[2]).toBe(false)
    const deleted = record('a', 2, 'x', { deleted: true })
    expect(stateOf(...first, ...together(record('c', 1, 'x'), deleted)).accepted[2]).toBe(true)
    expect(state.judge(record('c', 1, 'x'))).toEqual({ accepted: false, because: 'name', name: 'x' })
  })

  test('replays any log to the same state, in which names are unique', () => {
    const change = fc.record({
      id: fc.constantFrom('a', 'b', 'c'),
      version: fc.integer({ min: 1, max: 4 }),
      name: fc.constantFrom('x', 'y'),
      deleted: fc.boolean(),
    })
    fc.assert(
      fc.property(fc.array(change, { maxLength: 30 }), (changes) => {
        const log = changes.map(({ id, version, name, deleted }) => record(id, version, name, { deleted }))
        const { state } = stateOf(...log)
        const names = ids.flatMap((id) => state.current('source', id)?.names ?? [])
        expect(new Set(names).size).toBe(names.length)
        expect(state.count('source')).toBe(names.length)
        expect(existing(stateOf(...log).state)).toEqual(existing(state))
      }),
    )
  })
})
