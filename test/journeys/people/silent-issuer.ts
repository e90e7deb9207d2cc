import { afterAll, beforeAll, expect, test } from 'vitest'
import { CookieJar } from '../../support/network/issuer.ts'
import { openWithIssuer, type PeopleStage } from './stage.ts'

/** Each sign-in takes as long as an issuer may take, so they go on beside the other journeys and are looked at after them. */
export function silentIssuerJourneys({ codeOf }: PeopleStage): void {
  let opened: ReturnType<typeof openWithIssuer>
  let signIns: ReturnType<typeof signInWithoutResponse>
  beforeAll(() => {
    opened = openWithIssuer()
    signIns = opened.then(signInWithoutResponse)
    signIns.catch(() => {})
  })
  afterAll(async () => {
    const { service, issuer } = await opened
    await service.close()
    await issuer.close()
  })

  test('an issuer that never responds keeps people from signing in, and nothing else', async () => {
    const { service, issuer } = await opened
    const { session, responses } = await signIns
    const codes = await Promise.all(responses.map(codeOf))
    expect(codes).toEqual(['sign_in_unavailable', 'sign_in_unavailable'])
    expect(responses.map(({ status }) => status)).toEqual([503, 503])
    expect(session.map(({ status }) => status)).toEqual([200, 200])
    // Nor does it keep the service from stopping.
    const arrived = new Promise<void>((resolve) => {
      issuer.intercept = () => {
        resolve()
        return true
      }
    })
    const last = new CookieJar().send(`${service.url}/auth/login`).catch(() => undefined)
    await arrived
    await service.close()
    await last
    await expect(fetch(service.url)).rejects.toThrow('fetch failed')
  })
}

async function signInWithoutResponse({ service, issuer }: Awaited<ReturnType<typeof openWithIssuer>>) {
  const login = `${service.url}/auth/login?return_to=/console/logs`
  issuer.claims.ada = { name: 'Ada', email: 'ada@example.com', groups: ['ops'], project: null }
  const [ada, half] = [new CookieJar(), new CookieJar()]
  await ada.follow(login, `${service.url}/console`)
  const { address: back } = await half.follow(login, `${service.url}/auth/callback`)
  const whoami = () => ada.send(`${service.url}/api/whoami`)
  // It takes every request, and keeps it.
  issuer.intercept = () => true
  // First while the browser comes back, then while the description of the issuer is read again.
  const finishing = half.send(back)
  const session = [await whoami()]
  const responses = [await finishing]
  const beginning = new CookieJar().send(login)
  session.push(await whoami())
  responses.push(await beginning)
  return { session, responses }
}
