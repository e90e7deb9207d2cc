import { afterAll, beforeAll, expect, test } from 'vitest'
import { ask } from '../../support/callers.ts'
import { CookieJar, type Issuer } from '../../support/network/issuer.ts'
import { openService, type RunningService } from '../../support/service.ts'
import { dropDatabase, environmentOf, newDatabase, type SharedServer } from '../../support/worker-server.ts'
import { openWithIssuer } from './stage.ts'

/** People sign in on one service. The other one shares its ClickHouse server and its admin token. */
export function twoServicesJourneys(): void {
  const token = 'the-admin-token-of-both'
  let database: SharedServer
  let one: RunningService
  let other: RunningService
  let issuer: Issuer
  beforeAll(async () => {
    database = await newDatabase()
    const environment = { ...environmentOf(database), WELLHEAD_ADMIN_TOKEN: token }
    ;({ service: one, issuer } = await openWithIssuer({ environment }))
    other = await openService({ environment })
    issuer.claims.ada = { name: 'Ada', email: 'ada@example.com', groups: ['ops'], project: null }
  })
  afterAll(async () => {
    await Promise.all([one?.close(), other?.close(), issuer?.close()])
    if (database) await dropDatabase(database)
  })

  const signIn = async () => {
    const jar = new CookieJar()
    await jar.follow(`${one.url}/auth/login?return_to=/console/logs`, `${one.url}/console`)
    return jar
  }
  /** Statuses of requests with the cookie, on both services. */
  const statuses = (cookie: string | undefined) => async () => {
    const headers = { Cookie: `wellhead=${cookie}` }
    const sent = [one, other].map((service) =>
      ask(service, undefined, 'GET', '/api/whoami', undefined, headers),
    )
    return (await Promise.all(sent)).map(({ status }) => status)
  }

  test('a session works and ends on every service, and the audit has each act once', async () => {
    const [first, second] = [await signIn(), await signIn()]
    const cookies = [first, second].map((jar) => jar.get(one.url, 'wellhead'))
    for (const cookie of cookies) await expect.poll(statuses(cookie)).toEqual([200, 200])
    await first.send(`${one.url}/auth/logout`, { method: 'POST', headers: { Origin: one.url } })
    await expect.poll(statuses(cookies[0])).toEqual([401, 401])
    expect(await statuses(cookies[1])()).toEqual([200, 200])
    // Here, the other service ends it.
    const [ada] = (await ask(other, token, 'GET', '/api/people')).body
    expect((await ask(other, token, 'DELETE', `/api/people/${ada.id}/sessions`)).status).toBe(204)
    await expect.poll(statuses(cookies[1])).toEqual([401, 401])
    // Both services derive entries, and each is there once.
    const sql =
      "SELECT action FROM audit_events WHERE actor_type = 'person' OR target = 'Ada' ORDER BY position"
    const actions = async () =>
      (await ask(other, token, 'POST', '/api/sql', { query: sql })).body.result.map(
        ({ action }: { action: string }) => action,
      )
    const expected = ['person.sign_in', 'person.sign_in', 'person.sign_out', 'person.end_sessions']
    await expect.poll(actions).toEqual(expected)
  })
}
