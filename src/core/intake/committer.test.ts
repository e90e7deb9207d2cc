import { describe, expect, test } from 'vitest'
import { engineUnavailable } from '../base/errors.ts'
import { ClickHouseError } from '../engine/clickhouse-http.ts'
import type { Engine } from '../engine/engine.ts'
import { toWellheadError } from '../engine/engine-errors.ts'
import { type Batch, Committer } from './committer.ts'
import { LineWriter } from './lines.ts'

interface Insert {
  source: string
  lines: string[]
  token: string
}

/** A committer on an engine that responds as the test says. */
function openStore(respond: (insert: Insert) => void | Promise<void> = () => {}) {
  const inserts: Insert[] = []
  const pausesMs: number[] = []
  const engine: Pick<Engine, 'insert'> = {
    insert: async ({ table, settings }, rows) => {
      const insert = {
        source: table.replace('wellhead.', ''),
        lines: rows.toString().trim().split('\n'),
        token: String(settings?.insert_deduplication_token),
      }
      inserts.push(insert)
      await respond(insert)
    },
  }
  const committer = new Committer({
    engine,
    maxPendingBytes: 1_000,
    maxInsertBytes: 500,
    attempts: 8,
    pause: async (ms) => {
      pausesMs.push(ms)
    },
  })
  return { committer, inserts, pausesMs }
}

/** A batch for the source "a", unless the test says otherwise. */
function batch(texts: string[], more: Partial<Batch> = {}): Batch {
  const writer = new LineWriter()
  for (const text of texts) {
    writer.utf8(text)
    writer.endLine()
  }
  return { source: 'a', lines: writer.lines(), ...more }
}

const cannotParse = toWellheadError(new ClickHouseError({ message: 'Cannot parse', code: 27 }), {
  deadlineMs: 60_000,
  ended: 'by-engine',
})

function gated() {
  let release: () => void = () => {}
  const promise = new Promise<void>((resolve) => {
    release = resolve
  })
  return { promise, release }
}

describe('group commit', () => {
  test('lines that arrive together are one insert, and later ones are the next', async () => {
    const gate = gated()
    const { committer, inserts } = openStore(() => gate.promise)
    const first = [committer.submit(batch(['1'])), committer.submit(batch(['2']))]
    await new Promise((resolve) => setImmediate(resolve))
    const second = ['3', '4', '5'].map((text) => committer.submit(batch([text])))
    gate.release()
    await Promise.all([...first, ...second])
    expect(inserts.map((insert) => insert.lines)).toEqual([
      ['1', '2'],
      ['3', '4', '5'],
    ])
    expect(committer.pendingBytes).toBe(0)
  })

  test('sources do not wait for each other', async () => {
    const gate = gated()
    const { committer } = openStore(({ source }) => (source === 'slow' ? gate.promise : undefined))
    const slow = committer.submit(batch(['1'], { source: 'slow' }))
    await committer.submit(batch(['2'], { source: 'fast' }))
    gate.release()
    await slow
  })

  test('refuses requests beyond its byte limit, but not the rest of a stored one', async () => {
    const gate = gated()
    const { committer, inserts } = openStore(() => gate.promise)
    const taken = [committer.submit(batch(['x'.repeat(600)])), committer.submit(batch(['y'.repeat(300)]))]
    const more = batch(['z'.repeat(200)])
    await expect(committer.submit(batch(['small'], { source: 'b' }), more)).rejects.toMatchObject({
      code: 'rate_limited',
      retryAfterSeconds: 1,
    })
    const rest = committer.submit({ ...more, begun: true })
    gate.release()
    await Promise.all(taken)
    await committer.settled()
    await rest
    expect(inserts.map(({ source }) => source)).toEqual(['a', 'a', 'a'])
    await committer.submit(batch(['z'.repeat(200)]))
  })

  test('retries an insert with the same token while the engine is unavailable', async () => {
    let failures = 2
    const { committer, inserts } = openStore(() => {
      if (failures-- > 0) throw engineUnavailable('away')
    })
    await Promise.all([committer.submit(batch(['1'])), committer.submit(batch(['2']))])
    expect(inserts.map((insert) => insert.lines)).toEqual(Array(3).fill(['1', '2']))
    expect(new Set(inserts.map(({ token }) => token)).size).toBe(1)
  })

  test('waits longer before each attempt, up to a second', async () => {
    const { committer, pausesMs } = openStore(() => {
      throw engineUnavailable('away')
    })
    await expect(committer.submit(batch(['1']))).rejects.toThrow('away')
    expect(pausesMs).toEqual([50, 100, 200, 400, 800, 1000, 1000])
  })

  test('fails every request of a group if the engine stays unavailable', async () => {
    const { committer } = openStore(() => {
      throw engineUnavailable('away')
    })
    const sent = [committer.submit(batch(['1'])), committer.submit(batch(['2']))]
    for (const call of sent) await expect(call).rejects.toMatchObject({ code: 'engine_unavailable' })
    expect(committer.pendingBytes).toBe(0)
  })

  test('reports a line that the engine refuses, and stores the others', async () => {
    const stored: string[] = []
    const { committer } = openStore((insert) => {
      if (insert.lines.some((line) => line.startsWith('bad'))) throw cannotParse
      stored.push(...insert.lines)
    })
    const [[good], [mixed]] = await Promise.all([
      committer.submit(batch(['1', '2', '3'])),
      committer.submit(batch(['4', 'bad', '5', 'bad too'])),
    ])
    expect([...(good ?? [])]).toEqual([])
    expect([...(mixed?.keys() ?? [])]).toEqual([1, 3])
    expect(stored.sort()).toEqual(['1', '2', '3', '4', '5'])
  })

  test('inserts lines with a token separately', async () => {
    const { committer, inserts } = openStore()
    await Promise.all([
      committer.submit(batch(['1'])),
      committer.submit(batch(['2'], { token: 'key' })),
      committer.submit(batch(['3'])),
    ])
    expect(inserts.map((insert) => insert.lines.join())).toEqual(['1', '2', '3'])
    expect(inserts[1]?.token).toBe('key')
  })
})
