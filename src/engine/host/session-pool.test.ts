import { describe, expect, test } from 'vitest'
import { type PooledSession, SessionPool } from './session-pool.ts'

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
    return settled()
  }
}

/** Lets all promises settle that wait for nothing else. */
const settled = () => new Promise<void>((resolve) => setImmediate(resolve))

function createPool({ size = 1, maxWaiting = 10, maxClosing = 10 } = {}) {
  const opened: TestSession[] = []
  const open = async () => {
    const session = new TestSession()
    opened.push(session)
    return session
  }
  const pool = new SessionPool({ open, size, maxWaiting, maxClosing })
  const use = (
    work: (session: TestSession) => Promise<void> | void = () => {},
    signal = new AbortController().signal,
  ) => pool.use(signal, async (session) => work(session))
  const spoil = () =>
    use((session) => {
      session.spoiled = true
    })
  /** Uses a session until it is released. */
  const occupy = () => {
    let release = () => {}
    const done = use(
      () =>
        new Promise<void>((resolve) => {
          release = resolve
        }),
    )
    return { done, release: () => release() }
  }
  return { opened, use, spoil, occupy }
}

describe('a session', () => {
  test('is used again after a successful query', async () => {
    const { opened, use } = createPool()
    await use()
    await use()
    expect(opened).toHaveLength(1)
  })

  test('is closed and never used again if it is spoiled', async () => {
    const { opened, use, spoil } = createPool()
    await spoil()
    expect(opened[0]?.closeCalls).toBe(1)
    await use((session) => expect(session).not.toBe(opened[0]))
    expect(opened).toHaveLength(2)
  })

  test('goes to the query that has waited longest', async () => {
    const { use } = createPool({ size: 2 })
    const order: number[] = []
    const release: (() => void)[] = []
    const queries = [0, 1, 2, 3].map((i) =>
      use(() => {
        order.push(i)
        return new Promise<void>((resolve) => release.push(resolve))
      }),
    )
    await settled()
    expect(order).toEqual([0, 1])
    release[1]?.()
    await settled()
    expect(order).toEqual([0, 1, 2])
    release[0]?.()
    await settled()
    expect(order).toEqual([0, 1, 2, 3])
    for (const end of release) end()
    await Promise.all(queries)
  })
})

describe('a query', () => {
  test('is refused if too many wait', async () => {
    const { use, occupy } = createPool({ maxWaiting: 1 })
    const first = occupy()
    const second = use()
    await expect(use()).rejects.toThrow('Too many simultaneous queries.')
    await settled()
    first.release()
    await Promise.all([first.done, second])
  })

  test('leaves the queue when it is aborted', async () => {
    const { use, occupy } = createPool({ maxWaiting: 1 })
    const first = occupy()
    const stop = new AbortController()
    const second = use(() => {}, stop.signal)
    stop.abort('gone')
    await expect(second).rejects.toBe('gone')
    const third = use()
    await settled()
    first.release()
    await Promise.all([first.done, third])
  })

  test('frees its slot if no session can be opened', async () => {
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

describe('spoiled sessions that close slowly', () => {
  test('are replaced at once up to the limit, then only when one has closed', async () => {
    const { opened, use, spoil } = createPool({ size: 1, maxClosing: 2 })
    for (let i = 0; i < 3; i++) await spoil()
    let served = false
    const next = use(() => {
      served = true
    })
    await settled()
    expect({ served, sessions: opened.length }).toEqual({ served: false, sessions: 3 })
    await opened[1]?.finishClosing()
    await next
    expect({ served, sessions: opened.length }).toEqual({ served: true, sessions: 4 })
  })

  test('never exceed the size of the pool plus the limit', async () => {
    const { opened, spoil } = createPool({ size: 2, maxClosing: 3, maxWaiting: 100 })
    const queries = Array.from({ length: 20 }, spoil)
    await settled()
    expect(opened).toHaveLength(5)
    for (let i = 0; i < 20; i++) await opened[i]?.finishClosing()
    await Promise.all(queries)
    expect(opened).toHaveLength(20)
  })

  test('do not block idle sessions, and free their slots when they have closed', async () => {
    const { opened, use, spoil } = createPool({ size: 2, maxClosing: 0 })
    await Promise.all([spoil(), use()])
    await use((session) => expect(session).toBe(opened[1]))
    await spoil()
    for (const session of [...opened]) await session.finishClosing()
    await Promise.all([use(), use()])
    expect(opened).toHaveLength(4)
  })
})
