import type { ServerResponse } from 'node:http'
import { pino } from 'pino'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  breakOff,
  exception,
  hang,
  ok,
  openNode,
  type Reply,
  reset,
} from '../../../../test/support/network/scripted-node.ts'
import { isolationSettings } from '../../sql/isolation.ts'
import { engineCodeOf } from '../engine-errors.ts'
import { RemoteEngine } from './cluster-engine.ts'

/** The first request gets one reply, later ones another, whichever nodes they reach. */
function inOrder(first: Reply, later: Reply = ok): Reply {
  let replies = 0
  return (response, request) => (replies++ === 0 ? first : later)(response, request)
}

type Options = Partial<ConstructorParameters<typeof RemoteEngine>[0]>

function engineOf(nodes: { url: string }[], options: Options = {}) {
  const engine = new RemoteEngine({
    url: nodes.map(({ url }) => url).join(),
    database: 'wellhead',
    log: pino({ level: 'silent' }),
    checkEveryMs: 10,
    ...options,
  })
  onTestFinished(() => engine.close())
  return engine
}

/** A started engine of as many nodes as there are replies. */
async function openEngine(...replies: Reply[]) {
  const nodes = await Promise.all(replies.map((reply) => openNode(reply)))
  const engine = engineOf(nodes)
  await engine.start()
  const received = () => nodes.map((node) => node.received.length)
  return { nodes, engine, received, total: () => received().reduce((sum, count) => sum + count, 0) }
}

const limits = { deadlineMs: 60_000 }
const select = (engine: RemoteEngine, own: object = {}) =>
  engine
    .query({ sql: 'SELECT 1', format: 'TabSeparated' }, { ...limits, ...own })
    .then(({ body }) => `${body}`)
const insert = (engine: RemoteEngine, settings: Record<string, string> = {}) =>
  engine.insert({ table: 't', format: 'JSONEachRow', settings }, Buffer.from('{}\n'), limits)
/** The time limit of the last statement that a node received. */
const secondsOf = ({ received }: { received: string[] }) =>
  Number(/max_execution_time=([\d.]+)/.exec(received.at(-1) ?? '')?.[1])
const unavailable = { code: 'engine_unavailable', status: 503 }

describe('a query', () => {
  test('runs on another node if one refuses connections', async () => {
    const { engine, nodes } = await openEngine(ok, ok)
    await nodes[0]?.close()
    expect(await Promise.all([1, 2, 3, 4].map(() => select(engine)))).toEqual(Array(4).fill('1\n'))
  })

  test('runs on another node if the connection breaks before a response', async () => {
    const reply = inOrder(reset)
    const { engine, nodes, received } = await openEngine(reply, reply)
    expect(await select(engine)).toBe('1\n')
    expect(received()).toEqual([1, 1])
    // The second one has the time that is left.
    const [less, all] = nodes.map(secondsOf).sort((one, other) => one - other)
    expect(all).toBe(60)
    expect(less).toBeLessThan(60)
  })

  test('fails if the connection breaks during the response', async () => {
    const reply = inOrder(breakOff)
    const { engine, total } = await openEngine(reply, reply)
    await expect(select(engine)).rejects.toMatchObject(unavailable)
    expect(total()).toBe(1)
  })

  test('fails with an error of its SQL', async () => {
    const reply = inOrder(exception(60))
    const { engine, total } = await openEngine(reply, reply)
    await expect(select(engine)).rejects.toMatchObject({ code: 'invalid_query' })
    expect(total()).toBe(1)
  })

  test.each([195, 202, 203, 209, 210, 225, 236, 242, 279, 289, 319, 452, 497, 516, 701, 999])(
    'runs on another node after error %d of the node',
    async (code) => {
      const reply = inOrder(exception(code))
      const { engine, total } = await openEngine(reply, reply)
      expect(await select(engine)).toBe('1\n')
      expect(total()).toBe(2)
    },
  )

  test('runs on another node after a page of a proxy', async () => {
    const reply = inOrder((response) => response.writeHead(502).end('<html>'))
    const { engine } = await openEngine(reply, reply)
    expect(await select(engine)).toBe('1\n')
  })

  test('fails with the error of the first node if no other can serve', async () => {
    const { engine, received } = await openEngine(exception(999), exception(999), exception(999))
    await expect(select(engine)).rejects.toMatchObject(unavailable)
    expect(received()).toEqual([1, 1, 1])
  })

  test('reaches at most two nodes that end without a response, because it may be the cause', async () => {
    const { engine, total } = await openEngine(reset, reset, reset, reset)
    await expect(select(engine)).rejects.toMatchObject(unavailable)
    expect(total()).toBe(2)
  })

  test('does not run elsewhere after its deadline', async () => {
    const { engine, total } = await openEngine(hang, hang)
    await expect(select(engine, { deadlineMs: 10 })).rejects.toMatchObject({ code: 'query_timeout' })
    expect(total()).toBe(1)
  })

  test('does not run elsewhere after its caller cancelled it', async () => {
    const caller = new AbortController()
    const leave: Reply = () => caller.abort()
    const { engine, total } = await openEngine(leave, leave)
    await expect(select(engine, { signal: caller.signal })).rejects.toMatchObject({ code: 'query_cancelled' })
    expect(total()).toBe(1)
  })

  test('moves to another node if its node stops responding to pings', async () => {
    const { engine, nodes, total } = await openEngine(hang, hang)
    for (const node of nodes) {
      node.reply = () => {
        node.ping = reset
        for (const other of nodes) if (other !== node) other.reply = ok
      }
    }
    expect(await select(engine)).toBe('1\n')
    expect(total()).toBe(2)
  })

  test('stays on the only node that there is', async () => {
    const { engine, nodes } = await openEngine(hang)
    const [node] = nodes
    const response = new Promise<ServerResponse>((resolve) => {
      if (node) node.reply = resolve
    })
    const result = select(engine)
    const pending = await response
    if (node) node.ping = reset
    await vi.waitFor(() => expect(engine.state().ready).toBe(false))
    ok(pending, pending.req)
    expect(await result).toBe('1\n')
  })
})

describe('an insert', () => {
  test('with a deduplication token runs on another node with the same token', async () => {
    const reply = inOrder(reset)
    const { engine, nodes } = await openEngine(reply, reply)
    await insert(engine, { insert_deduplication_token: 'once' })
    for (const { received } of nodes) {
      expect(received).toEqual([expect.stringContaining('insert_deduplication_token=once')])
    }
  })

  test('without one fails, because its rows may have been stored', async () => {
    const reply = inOrder(reset)
    const { engine, total } = await openEngine(reply, reply)
    await expect(insert(engine)).rejects.toMatchObject(unavailable)
    expect(total()).toBe(1)
  })
})

test('a command fails if its node does not respond', async () => {
  const reply = inOrder(reset)
  const { engine, total } = await openEngine(reply, reply)
  await expect(engine.command({ sql: 'DROP TABLE t' }, limits)).rejects.toMatchObject(unavailable)
  expect(total()).toBe(1)
})

describe('nodes', () => {
  test('get a request if they have the fewest', async () => {
    const held: ServerResponse[] = []
    const { engine, received } = await openEngine(
      inOrder((response) => held.push(response)),
      inOrder((response) => held.push(response)),
    )
    const pending = [select(engine), select(engine)]
    await vi.waitFor(() => expect(received()).toEqual([1, 1]))
    // One of them is free again, and gets all that come one after the other.
    held[0]?.end('1\n')
    await Promise.race(pending)
    for (let i = 0; i < 3; i++) await select(engine)
    expect(received().sort()).toEqual([1, 4])
    held[1]?.end('1\n')
    await Promise.all(pending)
  })

  test('that are all away make requests wait until one returns', async () => {
    const { engine, nodes } = await openEngine(ok, ok)
    await Promise.all(nodes.map((node) => node.close()))
    await expect(select(engine)).rejects.toMatchObject(unavailable)
    await vi.waitFor(() => expect(engine.state().ready).toBe(false))
    const waiting = select(engine)
    await nodes[1]?.reopen()
    expect(await waiting).toBe('1\n')
    expect(secondsOf(nodes[1] as (typeof nodes)[number])).toBeLessThan(60)
    expect(engine.state()).toMatchObject({
      ready: true,
      restarts: 1,
      nodes: [
        { ready: false, reason: 'Cannot connect to ClickHouse.' },
        { ready: true, restarts: 1 },
      ],
    })
  })

  test('may be away at the start, but not all of them', async () => {
    const [one, other] = [await openNode(ok), await openNode(ok)]
    await one.close()
    const engine = engineOf([one, other])
    await engine.start()
    expect(engine.state().nodes?.map(({ ready }) => ready)).toEqual([false, true])
    await one.reopen()
    await vi.waitFor(() => expect(engine.state().nodes?.[0]?.ready).toBe(true))
    expect(engine.state().restarts).toBe(0)

    await Promise.all([one.close(), other.close()])
    await expect(engineOf([one, other]).start()).rejects.toThrow('Cannot connect to ClickHouse.')
  })

  test('that are too old are refused', async () => {
    const [old, current] = [await openNode(ok, { version: '24.8.4.13' }), await openNode(ok)]
    const message = 'ClickHouse 24.8.4.13 is too old.'
    await expect(engineOf([old]).start()).rejects.toThrow(message)
    const engine = engineOf([old, current])
    await engine.start()
    for (let i = 0; i < 3; i++) await select(engine)
    expect(old.received).toEqual([])
    expect(engine.state().nodes?.[0]).toMatchObject({ ready: false, reason: message })
  })

  test('that lack the tables of their cluster are not used until they have them', async () => {
    const empty = Object.assign(await openNode(ok), { hasTables: false })
    const engine = engineOf([empty, await openNode(ok)], { cluster: 'main', commonTable: '_catalog' })
    await engine.start()
    for (let i = 0; i < 3; i++) await select(engine)
    expect(empty.received).toEqual([])
    expect(engine.state().nodes?.[0]?.reason).toBe('The tables of Wellhead are missing on this node.')
    empty.hasTables = true
    await vi.waitFor(() => expect(engine.state().nodes?.[0]?.ready).toBe(true))
  })

  test('that refuse the password are not used until they accept it', async () => {
    const [wrong, right] = [await openNode(ok, { version: 'wrong password' }), await openNode(ok)]
    const [alone, both] = [engineOf([wrong]), engineOf([wrong, right])]
    await expect(alone.start()).rejects.toSatisfy((error) => engineCodeOf(error) === 516)
    await both.start()
    expect(await select(both)).toBe('1\n')
    expect(both.state().nodes?.[0]?.reason).toBe('ClickHouse refuses the service: error 516.')
    wrong.version = right.version
    await vi.waitFor(() => expect(both.state().nodes?.[0]?.ready).toBe(true))
    // A password that changes while a node is in use is noticed at the next request.
    for (const node of [wrong, right]) node.reply = exception(516)
    right.version = 'wrong password'
    await expect(select(both)).rejects.toMatchObject(unavailable)
    await vi.waitFor(() => expect(both.state().nodes?.map(({ ready }) => ready)).toEqual([true, false]))
  })

  test('get only isolation settings that they know', async () => {
    const node = await openNode(ok, { lacks: 'use_statistics' })
    const engine = engineOf([node])
    await engine.start()
    await engine.query({ sql: 'SELECT 1', format: 'TSV', settings: isolationSettings }, limits)
    expect(node.received[0]).not.toContain('use_statistics=')
    expect(node.received[0]).toContain('use_query_cache=0')
  })

  test('are checked for leaks before they serve, and again after an upgrade', async () => {
    const [one, other] = [await openNode(ok), await openNode(ok)]
    const checks: string[] = []
    const leaking = new Set<string>()
    const engine = engineOf([one, other], {
      checkIsolation: async (node) => {
        await node.query({ sql: 'SELECT leak', format: 'TSV' }, limits)
        const [seen] = [one, other].filter(({ received }) => received.at(-1)?.includes('SELECT leak'))
        seen?.received.pop()
        checks.push(`${seen?.url} ${node.database}`)
        return leaking.has(seen?.url ?? '') ? 'A join shows rows of others.' : undefined
      },
    })
    await engine.start()
    expect(checks.sort()).toEqual([`${one.url} wellhead`, `${other.url} wellhead`].sort())
    expect(engine.state()).not.toHaveProperty('leak')

    await one.close()
    await vi.waitFor(() => expect(engine.state().nodes?.[0]?.ready).toBe(false))
    one.version = '25.8.2.1'
    leaking.add(one.url)
    await one.reopen()
    await vi.waitFor(() => expect(engine.state()).toHaveProperty('leak', 'A join shows rows of others.'))
    expect(checks).toHaveLength(3)
    await one.close()
    await vi.waitFor(() => expect(engine.state()).not.toHaveProperty('leak'))
    // A return does not make it forgotten.
    await one.reopen()
    await vi.waitFor(() => expect(engine.state()).toHaveProperty('leak'))
    leaking.clear()
    await one.close()
    await vi.waitFor(() => expect(engine.state()).not.toHaveProperty('leak'))
    await one.reopen()
    // It serves all but tenants until the check has ended.
    await vi.waitFor(() => {
      expect(engine.state().nodes?.[0]?.ready).toBe(true)
      expect(engine.state()).not.toHaveProperty('leak')
    })
  })

  test('that leak refuse isolated statements, also those that waited for them and while all are away', async () => {
    const node = await openNode(ok)
    const leak = 'A join shows rows of others.'
    let waiting: Promise<unknown> | undefined
    const engine = engineOf([node], {
      // Sent while nothing is known about the node.
      checkIsolation: async () => {
        waiting ??= select(engine, { isolated: true }).catch((error) => error)
        return leak
      },
    })
    await engine.start()
    expect(await waiting).toMatchObject({ code: 'isolation_unverified' })
    expect(await select(engine)).toBe('1\n')
    expect(node.received).toHaveLength(1)
    await node.close()
    await vi.waitFor(() => expect(engine.state()).toMatchObject({ ready: false, leak }))
  })

  test('are named by host and port, and nothing says their passwords', async () => {
    const node = await openNode(ok)
    const lines: string[] = []
    const secret = node.url.replace('://', '://me:hush%2C@')
    const engine = engineOf([{ url: secret }, { url: 'http://me:hush%2C@127.0.0.1:1/' }], {
      log: pino({}, { write: (line) => void lines.push(line) }),
    })
    await engine.start()
    await node.close()
    const failure = await select(engine).catch((error) => error)
    await vi.waitFor(() => expect(engine.state().ready).toBe(false))
    const names = engine.state().nodes?.map(({ node: name }) => name)
    expect(names).toEqual([new URL(node.url).host, '127.0.0.1:1'])
    expect(lines.length).toBeGreaterThan(1)
    expect(lines.join('') + JSON.stringify([engine.state(), failure, failure.cause])).not.toMatch(/hush|%2C/)
  })
})
