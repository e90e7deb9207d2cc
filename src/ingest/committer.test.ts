import { describe, expect, test } from 'vitest'
import { engineUnavailable, invalidQuery } from '../base/errors.ts'
import { Committer } from './committer.ts'

interface Insert {
  source: string
  lines: string[]
  token: string
}

/** A store that answers when it is told to. */
function openStore(answer: (insert: Insert) => void | Promise<void> = () => {}) {
  const inserts: Insert[] = []
  const committer = new Committer({
    insert: async (source, lines, token) => {
      const insert = { source, lines: lines.toString().trim().split('\n'), token }
      inserts.push(insert)
      await answer(insert)
    },
    maxPendingBytes: 1_000,
    maxInsertBytes: 500,
    attempts: 3,
  })
  return { committer, inserts }
}

const lines = (...texts: string[]) => texts.map((text) => Buffer.from(`${text}\n`))

function held() {
  let release: () => void = () => {}
  const promise = new Promise<void>((resolve) => {
    release = resolve
  })
  return { promise, release }
}

describe('group commit', () => {
  test('what arrives together is one insert, and what arrives meanwhile is the next', async () => {
    const gate = held()
    const { committer, inserts } = openStore(() => gate.promise)
    const first = [committer.submit('a', lines('1')), committer.submit('a', lines('2'))]
    await new Promise((resolve) => setImmediate(resolve))
    const second = ['3', '4', '5'].map((text) => committer.submit('a', lines(text)))
    gate.release()
    await Promise.all([...first, ...second])
    expect(inserts.map((insert) => insert.lines)).toEqual([
      ['1', '2'],
      ['3', '4', '5'],
    ])
    expect(committer.pendingBytes).toBe(0)
  })

  test('sources do not wait for each other', async () => {
    const gate = held()
    const { committer } = openStore(({ source }) => (source === 'slow' ? gate.promise : undefined))
    const slow = committer.submit('slow', lines('1'))
    await committer.submit('fast', lines('2'))
    gate.release()
    await slow
  })

  test('beyond its bytes senders are told to come back, and nothing is lost', async () => {
    const gate = held()
    const { committer, inserts } = openStore(() => gate.promise)
    const taken = [
      committer.submit('a', lines('x'.repeat(600))),
      committer.submit('a', lines('y'.repeat(300))),
    ]
    expect(() => committer.submit('a', lines('z'.repeat(200)))).toThrow(
      expect.objectContaining({ code: 'rate_limited', retryAfterSeconds: 1 }),
    )
    gate.release()
    await Promise.all(taken)
    await committer.settled()
    expect(inserts).toHaveLength(2)
    await committer.submit('a', lines('z'.repeat(200)))
  })

  test('an engine that goes away gets the same insert with the same token again', async () => {
    let failures = 2
    const { committer, inserts } = openStore(() => {
      if (failures-- > 0) throw engineUnavailable('away')
    })
    await committer.submit('a', lines('1'))
    expect(inserts).toHaveLength(3)
    expect(new Set(inserts.map(({ token }) => token)).size).toBe(1)
  })

  test('an engine that stays away is told to every sender of the group', async () => {
    const { committer } = openStore(() => {
      throw engineUnavailable('away')
    })
    const sent = [committer.submit('a', lines('1')), committer.submit('a', lines('2'))]
    for (const call of sent) await expect(call).rejects.toMatchObject({ code: 'engine_unavailable' })
    expect(committer.pendingBytes).toBe(0)
  })

  test('a line that the engine refuses is told to its sender, and its neighbours are stored', async () => {
    const stored: string[] = []
    const { committer } = openStore((insert) => {
      if (insert.lines.some((line) => line.startsWith('bad'))) throw invalidQuery('cannot parse')
      stored.push(...insert.lines)
    })
    const [good, mixed] = await Promise.all([
      committer.submit('a', lines('1', '2', '3')),
      committer.submit('a', lines('4', 'bad', '5', 'bad too')),
    ])
    expect([...good]).toEqual([])
    expect([...mixed.keys()]).toEqual([1, 3])
    expect(stored.sort()).toEqual(['1', '2', '3', '4', '5'])
  })

  test('lines with a token of their own are an insert of their own', async () => {
    const { committer, inserts } = openStore()
    await Promise.all([
      committer.submit('a', lines('1')),
      committer.submit('a', lines('2'), 'key'),
      committer.submit('a', lines('3')),
    ])
    expect(inserts.map((insert) => insert.lines.join())).toEqual(['1', '2', '3'])
    expect(inserts[1]?.token).toBe('key')
  })
})
