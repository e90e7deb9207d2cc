import { describe, expect, test } from 'vitest'
import { type PooledSession, PoolFull, SessionPool } from './session-pool.ts'

/** A session that closes when the test lets it. */
class TestSession implements PooledSession {
  spoiled = false
  closeCalls = 0
  #finish: () => void = () => {}

  close(): Promise<void> {
    this.closeCalls++
    return new Promise((resolve) => {
      this.#finish = resolve
    })
  }

  finishClosing(): Promise<void> {
    this.#finish()
    return turn()
  }
}

/** Lets everything run that waits for nothing from outside. */
const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

function createPool({ size = 1, maxWaiting = 10, maxClosing = 10 } = {}) {
  const opened: TestSession[] = []
  const open = async () => {
    const session = new TestSession()
    opened.push(session)
    return session
  }
  const pool = new SessionPool({ open, size, maxWaiting, maxClosing })
  const use = (work: (session: TestSession) => Promise<void> | void, stop = new AbortController().signal) =>
    pool.use(stop, async (session) => {
      await work(session)
    })
  const spoil = () =>
    use((session) => {
      session.spoiled = true
    })
  return { opened, use, spoil, pool }
}

/** Work that lasts until it is told to end. */
function occupy(use: (work: () => Promise<void>) => Promise<void>) {
  let finish = () => {}
  const first = use(
    () =>
      new Promise<void>((resolve) => {
        finish = resolve
      }),
  )
  return { first, finish: () => finish() }
}

describe('the pool of sessions', () => {
  test('a session is lent again after a query that succeeded', async () => {
    const { opened, use } = createPool()
    await use(() => {})
    await use(() => {})
    expect(opened).toHaveLength(1)
  })

  test('a session in which something failed is closed and never lent again', async () => {
    const { opened, use, spoil } = createPool()
    await spoil()
    expect(opened[0]?.closeCalls).toBe(1)
    await use((session) => expect(session).not.toBe(opened[0]))
    expect(opened).toHaveLength(2)
  })

  test('no more sessions are lent than the pool has, and who waits longest is next', async () => {
    const { use } = createPool({ size: 2 })
    const order: number[] = []
    const finish: (() => void)[] = []
    const calls = [0, 1, 2, 3].map((i) =>
      use(() => {
        order.push(i)
        return new Promise<void>((resolve) => finish.push(resolve))
      }),
    )
    await turn()
    expect(order).toEqual([0, 1])
    finish[1]?.()
    await turn()
    expect(order).toEqual([0, 1, 2])
    finish[0]?.()
    await turn()
    expect(order).toEqual([0, 1, 2, 3])
    for (const end of finish) end()
    await Promise.all(calls)
  })

  test('who comes when too many wait already is refused', async () => {
    const { use } = createPool({ size: 1, maxWaiting: 1 })
    const { first, finish } = occupy(use)
    const second = use(() => {})
    await expect(use(() => {})).rejects.toBeInstanceOf(PoolFull)
    await turn()
    finish()
    await Promise.all([first, second])
  })

  test('who stops waiting leaves the line', async () => {
    const { use } = createPool({ size: 1, maxWaiting: 1 })
    const { first, finish } = occupy(use)
    const stop = new AbortController()
    const second = use(() => {}, stop.signal)
    stop.abort('gone')
    await expect(second).rejects.toBe('gone')
    const third = use(() => {})
    await turn()
    finish()
    await Promise.all([first, third])
  })

  test('a place is free again when no session could be opened for it', async () => {
    let fail = true
    const open = async () => {
      if (fail) throw new Error('out of memory')
      return new TestSession()
    }
    const pool = new SessionPool({ open, size: 1, maxWaiting: 1, maxClosing: 1 })
    const { signal } = new AbortController()
    await expect(pool.use(signal, async () => {})).rejects.toThrow('out of memory')
    fail = false
    await pool.use(signal, async () => {})
  })
})

describe('spoiled sessions that take long to close', () => {
  test('are replaced at once up to their bound, and from then on only when one is closed', async () => {
    const { opened, use, spoil } = createPool({ size: 1, maxClosing: 2 })
    for (let i = 0; i < 3; i++) await spoil()
    let served = false
    const next = use(() => {
      served = true
    })
    await turn()
    expect({ served, sessions: opened.length }).toEqual({ served: false, sessions: 3 })
    await opened[1]?.finishClosing()
    await next
    expect({ served, sessions: opened.length }).toEqual({ served: true, sessions: 4 })
  })

  test('never leave more sessions open than the pool and the bound together', async () => {
    const { opened, spoil } = createPool({ size: 2, maxClosing: 3, maxWaiting: 100 })
    const calls = Array.from({ length: 20 }, spoil)
    await turn()
    expect(opened).toHaveLength(5)
    for (let i = 0; i < 20; i++) await opened[i]?.finishClosing()
    await Promise.all(calls)
    expect(opened).toHaveLength(20)
  })

  test('do not keep idle sessions from being used', async () => {
    const { opened, use, spoil } = createPool({ size: 2, maxClosing: 0 })
    await Promise.all([spoil(), use(() => {})])
    await use((session) => expect(session).toBe(opened[1]))
  })

  test('give their places back when all are closed', async () => {
    const { opened, use, spoil } = createPool({ size: 2, maxClosing: 0 })
    await Promise.all([spoil(), spoil()])
    for (const session of [...opened]) await session.finishClosing()
    await Promise.all([use(() => {}), use(() => {})])
    expect(opened).toHaveLength(4)
  })
})
