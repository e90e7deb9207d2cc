import { describe, expect, test } from 'vitest'
import { CookieJar, clientId, clientSecret } from '../../support/network/issuer.ts'
import type { PeopleStage } from './stage.ts'

export function issuerResponseJourneys(stage: PeopleStage): void {
  const { who, login, whoami, comeBack, clock } = stage

  describe('the response of the issuer', () => {
    /** Signs in with an ID token that the test makes. */
    const withToken = async (
      make: (claims: Record<string, unknown>) => Promise<string>,
      more: (claims: Record<string, unknown>) => Record<string, unknown> = (claims) => claims,
    ) => {
      const jar = new CookieJar()
      const start = await jar.send(`${stage.service.url}/auth/login`)
      const { searchParams } = new URL(start.headers.get('location') as string)
      const seconds = Math.floor(Date.now() / 1000)
      const claims = more({
        ...{
          iss: stage.issuer.url,
          sub: 'ada',
          aud: clientId,
          iat: seconds,
          exp: seconds + 60,
          name: 'Ada',
          email: 'a@b',
        },
        ...{ nonce: searchParams.get('nonce'), groups: ['ops'], project: null },
      })
      const idToken = await make(claims)
      stage.issuer.intercept = ({ url }, response) => {
        if (url !== '/token') return false
        const body = { access_token: 'x', token_type: 'bearer', id_token: idToken }
        response.setHeader('Content-Type', 'application/json').end(JSON.stringify(body))
        return true
      }
      const iss = encodeURIComponent(stage.issuer.url)
      const back = `${stage.service.url}/auth/callback?code=x&state=${searchParams.get('state')}&iss=${iss}`
      const response = await jar.send(back)
      stage.issuer.intercept = undefined
      return { status: response.status, who: await whoami(jar), back, jar }
    }
    const sign = (claims: Record<string, unknown>) => stage.issuer.sign(claims)
    const now = () => Math.floor(Date.now() / 1000)

    test('is accepted with a clock that is off by less than a minute', async () => {
      expect((await withToken(sign)).who).toMatchObject({ role: 'admin' })
      const late = await withToken(sign, (claims) => ({ ...claims, exp: now() - 40 }))
      expect(late.who).toMatchObject({ role: 'admin' })
      const early = await withToken(sign, (claims) => ({ ...claims, nbf: now() + 40 }))
      expect(early.who).toMatchObject({ role: 'admin' })
      const ahead = await withToken(sign, (claims) => ({ ...claims, iat: clock.now() / 1000 + 40 }))
      expect(ahead.who).toMatchObject({ role: 'admin' })
    })

    test('is accepted if it names this client as the authorized party, also beside other audiences', async () => {
      for (const aud of [clientId, [clientId, 'another']]) {
        const token = await withToken(sign, (claims) => ({ ...claims, aud, azp: clientId }))
        expect(token.who).toMatchObject({ role: 'admin' })
      }
    })

    test.each<[string, (claims: Record<string, unknown>) => Record<string, unknown>]>([
      ['is over', (claims) => ({ ...claims, exp: now() - 90 })],
      ['is of tomorrow', (claims) => ({ ...claims, nbf: now() + 90 })],
      ['is for another client', (claims) => ({ ...claims, aud: 'another' })],
      ['is of another issuer', (claims) => ({ ...claims, iss: 'https://evil.example' })],
      ['is for another sign-in', (claims) => ({ ...claims, nonce: 'another' })],
      ['has no subject', ({ sub: _, ...claims }) => claims],
      ['has an empty subject', (claims) => ({ ...claims, sub: '' })],
      ['has a blank subject', (claims) => ({ ...claims, sub: ' ' })],
      ['was issued to another client', (claims) => ({ ...claims, azp: 'another' })],
      ['was issued to no client', (claims) => ({ ...claims, azp: null })],
      ['was issued in the future', (claims) => ({ ...claims, iat: clock.now() / 1000 + 90 })],
    ])('is refused if the token %s', async (_name, change) => {
      expect(await withToken(sign, change)).toMatchObject({ status: 400, who: 401 })
    })

    test('is refused without a signature, with that of another key, or with the secret as key', async () => {
      const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
      const unsigned = await withToken(async (claims) => `${encode({ alg: 'none' })}.${encode(claims)}.`)
      expect(unsigned).toMatchObject({ status: 400, who: 401 })
      const broken = await withToken(async (claims) => `${(await sign(claims)).slice(0, -8)}AAAAAAAA`)
      expect(broken).toMatchObject({ status: 400, who: 401 })
      const { SignJWT } = await import('jose')
      const withSecret = await withToken((claims) =>
        new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(new TextEncoder().encode(clientSecret)),
      )
      expect(withSecret).toMatchObject({ status: 400, who: 401 })
    })

    test('is refused if it names another issuer or none', async () => {
      for (const iss of ['&iss=https%3A%2F%2Fevil.example', '']) {
        const jar = new CookieJar()
        const back = await comeBack(jar)
        const response = await jar.send(back.replace(/&iss=[^&]*/, iss))
        expect([iss, response.status]).toEqual([iss, 400])
      }
    })

    test('is accepted with a new key', async () => {
      who({ groups: ['ops'] })
      await stage.issuer.rotate()
      // A sign-in that fails reads the issuer's description and keys again.
      await login(new CookieJar())
      const jar = new CookieJar()
      await login(jar)
      expect(await whoami(jar)).toMatchObject({ role: 'admin' })
    })
  })
}
