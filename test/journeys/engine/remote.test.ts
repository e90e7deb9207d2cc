import { expect, test, vi } from 'vitest'
import { openRemote } from '../../support/worker-server.ts'
import { describeEngine } from './behaviour.ts'

const ask = { sql: 'SELECT 1', format: 'TabSeparatedRaw' }
const limits = { deadlineMs: 60_000 }

describeEngine('a ClickHouse server', openRemote, (opened) => {
  test('a request waits briefly while the server is down, then succeeds or fails with 503', async () => {
    const { engine, network } = opened()
    const { restarts } = engine.state()
    const refused = { code: 'engine_unavailable', status: 503, retryAfterSeconds: 1 }
    await network.cut()
    await expect(engine.query(ask, limits)).rejects.toMatchObject(refused)
    await vi.waitFor(() => expect(engine.state().ready).toBe(false))

    const since = performance.now()
    await expect(engine.command(ask, limits)).rejects.toMatchObject(refused)
    expect(performance.now() - since).toBeGreaterThan(1_900)

    const waiting = engine.query(ask, limits)
    await network.mend()
    expect((await waiting).body.toString()).toBe('1\n')
    expect(engine.state()).toMatchObject({ ready: true, restarts: restarts + 1 })
  })
})
