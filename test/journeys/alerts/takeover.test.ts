import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { ask } from '../../support/callers.ts'
import { manualTime } from '../../support/manual-clock.ts'
import { openReceiver, type Receiver } from '../../support/network/receiver.ts'
import { openService, type RunningService } from '../../support/service.ts'
import { workerServer } from '../../support/worker-server.ts'
import { runOn } from '../server/run-on.ts'

runOn(workerServer)

let receiver: Receiver
beforeAll(async () => {
  receiver = await openReceiver()
})
afterAll(() => receiver?.close())

const always = (name: string) => ({
  name,
  endpoint: 'always',
  when: 'any(n) = 1',
  every_seconds: 5,
  notify: [{ type: 'webhook', url: `${receiver.url}/${name}` }],
})

test('of several services on one server one evaluates, and another takes over from it', async () => {
  const times = [manualTime(), manualTime()] as const
  const open = (time: (typeof times)[number], key: string) =>
    openService({
      time,
      environment: {
        WELLHEAD_ADMIN_TOKEN: 'the-admin-token-of-both',
        WELLHEAD_ALERT_HOSTS: '127.0.0.1',
        WELLHEAD_ALERT_KEY: key,
      },
    })
  const key = 'a key of both services, 32 letters'
  const services = [await open(times[0], key), await open(times[1], key)] as const
  const [one, other] = services
  const admin = (service: RunningService, method: string, path: string, body?: unknown) =>
    ask(service, service.adminToken.token, method, path, body)
  const evaluatedBy = async (service: RunningService) =>
    Number(
      /^wellhead_alert_evaluations_total\{result="ok"\} (\d+)/m.exec(
        (await admin(service, 'GET', '/metrics')).body,
      )?.[1] ?? 0,
    )
  const until = (assertion: () => Promise<void>) => vi.waitFor(assertion, { interval: 50 })
  /** In steps that take a request to the server each, as the beats do: otherwise time passes faster than they can be sent. */
  const pass = async (which: 0 | 1, done: () => Promise<boolean>) => {
    for (let seconds = 0; seconds < 600 && !(await done()); seconds++) {
      times[which].advance(1000)
      await admin(services[which], 'POST', '/api/sql', { query: 'SELECT 1 AS n' })
    }
  }
  await admin(one, 'POST', '/api/endpoints', { name: 'always', query: 'SELECT 1 AS n' })
  await admin(one, 'POST', '/api/alerts', { ...always('taken'), repeat_seconds: 5 })
  await receiver.until('/taken', 1)
  // The one that started first has the lease; both show the state.
  await until(async () =>
    expect((await admin(other, 'GET', '/api/alerts/taken')).body).toMatchObject({ state: 'firing' }),
  )
  for (const time of times) time.advance(5_000)
  await receiver.until('/taken', 2)
  expect(await evaluatedBy(other)).toBe(0)
  // Its time stands still: no beats, no evaluations.
  const before = await evaluatedBy(one)
  await pass(1, async () => (await evaluatedBy(other)) > 0)
  expect(await evaluatedBy(other)).toBeGreaterThan(0)
  expect(await evaluatedBy(one)).toBe(before)
  // Its own lease has ended, and it sees the beats of another service.
  times[0].advance(20_000)
  let steps = 0
  await pass(0, async () => steps++ === 9)
  expect(await evaluatedBy(one)).toBe(before)
  // One that stops releases the lease at once.
  await other.close()
  await pass(0, async () => (await evaluatedBy(one)) > before)
  expect(await evaluatedBy(one)).toBeGreaterThan(before)
  await one.close()
  const stranger = await open(manualTime(), 'another key, which is just as long')
  const { body } = await admin(stranger, 'GET', '/api/alerts/taken')
  expect(body.error).toMatch(/secret of a webhook was created with another key/)
  await stranger.close()
})
