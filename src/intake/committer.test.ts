import { describe, expect, test } from 'vitest'
import { engineUnavailable } from '../base/errors.ts'
import { ClickHouseError } from '../engine/clickhouse-error.ts'
import type { Engine, Summary } from '../engine/engine.ts'
import { toWellheadError } from '../engine/engine-errors.ts'
import { Committer } from './committer.ts'
import { type Lines, LineWriter } from './lines.ts'

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
      return {} as Summary
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

function lines(...texts: string[]): Lines {
  const writer = new LineWriter()
  for (const text of texts) {
    writer.utf8(text)
    writer.endLine()
  }
  return writer.lines()
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
  test('what arrives together is one insert, and what arrives meanwhile is the next', async () => {
    const gate = gated()
    const { committer, inserts } = openStore(() => gate.promise)
    const first = [
      committer.submit({ source: 'a', lines: lines('1') }),
      committer.submit({ source: 'a', lines: lines('2') }),
    ]
    await new Promise((resolve) => setImmediate(resolve))
    const second = ['3', '4', '5'].map((text) => committer.submit({ source: 'a', lines: lines(text) }))
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
    const slow = committer.submit({ source: 'slow', lines: lines('1') })
    await committer.submit({ source: 'fast', lines: lines('2') })
    gate.release()
    await slow
  })

  test('beyond its bytes senders are told to come back, and nothing is lost', async () => {
    const gate = gated()
    const { committer, inserts } = openStore(() => gate.promise)
    const taken = [
      committer.submit({ source: 'a', lines: lines('x'.repeat(600)) }),
      committer.submit({ source: 'a', lines: lines('y'.repeat(300)) }),
    ]
    const more = { source: 'a', lines: lines('z'.repeat(200)) }
    await expect(committer.submit({ source: 'b', lines: lines('small') }, more)).rejects.toMatchObject({
      code: 'rate_limited',
      retryAfterSeconds: 1,
    })
    const rest = committer.submit({ ...more, begun: true })
    gate.release()
    await Promise.all(taken)
    await committer.settled()
    await rest
    expect(inserts.map(({ source }) => source)).toEqual(['a', 'a', 'a'])
    await committer.submit({ source: 'a', lines: lines('z'.repeat(200)) })
  })

  test('an engine that goes away gets the same insert with the same token again', async () => {
    let failures = 2
    const { committer, inserts } = openStore(() => {
      if (failures-- > 0) throw engineUnavailable('away')
    })
    await Promise.all([
      committer.submit({ source: 'a', lines: lines('1') }),
      committer.submit({ source: 'a', lines: lines('2') }),
    ])
    expect(inserts.map((insert) => insert.lines)).toEqual(Array(3).fill(['1', '2']))
    expect(new Set(inserts.map(({ token }) => token)).size).toBe(1)
  })

  test('between the tries it waits, longer each time up to a second', async () => {
    const { committer, pausesMs } = openStore(() => {
      throw engineUnavailable('away')
    })
    await expect(committer.submit({ source: 'a', lines: lines('1') })).rejects.toThrow('away')
    expect(pausesMs).toEqual([50, 100, 200, 400, 800, 1000, 1000])
  })

  test('an engine that stays away is told to every sender of the group', async () => {
    const { committer } = openStore(() => {
      throw engineUnavailable('away')
    })
    const sent = [
      committer.submit({ source: 'a', lines: lines('1') }),
      committer.submit({ source: 'a', lines: lines('2') }),
    ]
    for (const call of sent) await expect(call).rejects.toMatchObject({ code: 'engine_unavailable' })
    expect(committer.pendingBytes).toBe(0)
  })

  test('a line that the engine refuses is told to its sender, and its neighbours are stored', async () => {
    const stored: string[] = []
    const { committer } = openStore((insert) => {
      if (insert.lines.some((line) => line.startsWith('bad'))) throw cannotParse
      stored.push(...insert.lines)
    })
    const [[good], [mixed]] = await Promise.all([
      committer.submit({ source: 'a', lines: lines('1', '2', '3') }),
      committer.submit({ source: 'a', lines: lines('4', 'bad', '5', 'bad too') }),
    ])
    expect([...(good ?? [])]).toEqual([])
    expect([...(mixed?.keys() ?? [])]).toEqual([1, 3])
    expect(stored.sort()).toEqual(['1', '2', '3', '4', '5'])
  })

  test('lines with a token of their own are an insert of their own', async () => {
    const { committer, inserts } = openStore()
    await Promise.all([
      committer.submit({ source: 'a', lines: lines('1') }),
      committer.submit({ source: 'a', lines: lines('2'), token: 'key' }),
      committer.submit({ source: 'a', lines: lines('3') }),
    ])
    expect(inserts.map((insert) => insert.lines.join())).toEqual(['1', '2', '3'])
    expect(inserts[1]?.token).toBe('key')
  })
})
