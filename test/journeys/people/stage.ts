import { afterAll, beforeAll, beforeEach } from 'vitest'
import { ask } from '../../support/callers.ts'
import { hurriedTime } from '../../support/hurried-time.ts'
import { manualClock } from '../../support/manual-clock.ts'
import { freePort } from '../../support/network/free-port.ts'
import {
  type CookieJar,
  clientId,
  clientSecret,
  type Issuer,
  openIssuer,
} from '../../support/network/issuer.ts'
import { openService, type RunningService, type ServiceChoices } from '../../support/service.ts'

/** A service whose users sign in with an issuer on this machine. */
export async function openWithIssuer(choices: ServiceChoices = {}) {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const issuer = await openIssuer(`${url}/auth/callback`)
  const service = await openService({
    ...choices,
    environment: {
      ...choices.environment,
      WELLHEAD_PORT: String(port),
      WELLHEAD_PUBLIC_URL: url,
      WELLHEAD_OIDC_ISSUER: issuer.url,
      WELLHEAD_OIDC_CLIENT_ID: clientId,
      WELLHEAD_OIDC_CLIENT_SECRET: clientSecret,
      WELLHEAD_OIDC_ROLES: 'admin=ops,editor=dev|data,viewer=staff',
      WELLHEAD_OIDC_PROJECT_CLAIM: 'project',
    },
  })
  return { issuer, service }
}

export type PeopleStage = ReturnType<typeof peopleStage>

/** One service and one issuer for all journeys of a file. */
export function peopleStage() {
  /** The issuer has the time of the machine. */
  const clock = manualClock(Date.now())
  const stage = { clock } as { clock: typeof clock; service: RunningService; issuer: Issuer }
  beforeAll(async () => {
    Object.assign(stage, await openWithIssuer({ time: hurriedTime(clock) }))
  })
  // Each test has the sign-ins of a minute.
  beforeEach(() => clock.advance(60_000))
  afterAll(async () => {
    await stage.service?.close()
    await stage.issuer?.close()
  })
  const who = (fields: Record<string, unknown>, account = 'ada') => {
    stage.issuer.account = account
    stage.issuer.claims[account] = { name: 'Ada Lovelace', email: 'ada@example.com', ...fields }
  }

  const login = (jar: CookieJar, returnTo = '/console/logs') =>
    jar.follow(
      `${stage.service.url}/auth/login?return_to=${encodeURIComponent(returnTo)}`,
      `${stage.service.url}/console`,
    )

  const send = (jar: CookieJar, method: string, path: string, body?: unknown) =>
    ask(stage.service, undefined, method, path, body, {
      Cookie: jar.header(stage.service.url),
      Origin: stage.service.url,
    })

  const whoami = async (jar: CookieJar) => {
    const { status, body } = await send(jar, 'GET', '/api/whoami')
    const { type, name, email, role, project } = body
    return status === 200 ? { type, name, email, role, project } : status
  }

  /** The address that the issuer sends the browser back to, before the browser goes there. */
  const comeBack = async (jar: CookieJar) =>
    (await jar.follow(`${stage.service.url}/auth/login`, `${stage.service.url}/auth/callback`)).address

  const pageOf = async (response: Response) => [
    response.status,
    /<p>(.*?)<\/p>/.exec(await response.text())?.[1],
  ]

  const codeOf = async (response: Response) => /<code>(\w+)<\/code>/.exec(await response.text())?.[1]
  return Object.assign(stage, { who, login, send, whoami, comeBack, pageOf, codeOf })
}
