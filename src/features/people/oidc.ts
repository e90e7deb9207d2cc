import { createHmac, timingSafeEqual } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Configuration } from 'openid-client'
import { v5 as uuidv5 } from 'uuid'
import type { Role } from '../../core/access/caller.ts'
import { atMost } from '../../core/base/cache-limit.ts'
import type { Clock } from '../../core/base/clock.ts'
import { signInFailed, signInRefused, signInUnavailable } from '../../core/base/errors.ts'
import type { Log } from '../../core/base/log.ts'

export interface OidcSettings {
  oidcIssuer: string
  oidcClientId: string
  oidcClientSecret: string
  oidcScopes: string
  oidcGroupsClaim: string
  oidcRoles: readonly { role: Role; groups: readonly string[] }[]
  oidcProjectClaim: string | undefined
  oidcUnverifiedEmail: 'refuse' | 'allow'
  publicUrl: string
}

export interface OidcOptions {
  settings: OidcSettings
  /** Signs what a browser keeps while its user signs in. */
  secret: string
  clock: Clock
  log: Log
}

/** Who signed in, and what the issuer says about them. A customer has a project and no role. */
export interface SignedIn {
  id: string
  name: string
  email: string | null
  role: Role | null
  project: string | null
  /** Why the person is refused: what the person is told, and what the operator can change. */
  refusal: { message: string; reason: string } | undefined
}

interface Attempt {
  state: string
  nonce: string
  verifier: string
  returnTo: string
  expiresMs: number
}

export const attemptMs = 600_000
const maxAttempts = 10_000
/** Anybody can make a sign-in fail, so a failure does not discover the issuer again at once. */
const discoverAgainMs = 60_000
const issuerWithinSeconds = 10
const clockToleranceSeconds = 60

type Claims = Readonly<Record<string, unknown>>

/** Sign-in with an OpenID Connect issuer: the code flow with PKCE. */
export class Oidc {
  readonly #options: OidcOptions
  #discovered: Promise<Configuration> | undefined
  #discoveredMs = 0
  /** States of attempts that were used. */
  readonly #used = new LRUCache<string, true>(atMost(maxAttempts))

  constructor(options: OidcOptions) {
    this.#options = options
  }

  /** The address of the issuer, and what the browser has to bring back. */
  async begin(returnTo: unknown): Promise<{ url: string; state: string; attempt: string }> {
    const { publicUrl, oidcScopes } = this.#options.settings
    const { client, config } = await this.#issuer()
    const state = client.randomState()
    const nonce = client.randomNonce()
    const verifier = client.randomPKCECodeVerifier()
    const url = client.buildAuthorizationUrl(config, {
      redirect_uri: `${publicUrl}/auth/callback`,
      scope: oidcScopes,
      state,
      nonce,
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    })
    const expiresMs = this.#options.clock.now() + attemptMs
    const attempt = { state, nonce, verifier, returnTo: ownPath(returnTo, publicUrl), expiresMs }
    return { url: url.href, state, attempt: this.#sign(attempt satisfies Attempt) }
  }

  /** Takes the path with which the issuer sent the browser back. Calls `admit` for a valid attempt, before the issuer is asked. */
  async finish(
    path: string,
    signed: string | undefined,
    admit: () => void,
  ): Promise<{ person: SignedIn; returnTo: string }> {
    const { publicUrl } = this.#options.settings
    const attempt = this.#read(signed)
    if (!attempt || this.#used.has(attempt.state)) {
      throw signInFailed('This sign-in has expired or was already used.')
    }
    const { nonce, state, verifier, returnTo } = attempt
    admit()
    this.#used.set(state, true)
    const { client, config } = await this.#issuer()
    try {
      const tokens = await client.authorizationCodeGrant(config, new URL(path, publicUrl), {
        expectedNonce: nonce,
        expectedState: state,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      })
      let claims = tokens.claims() as Claims
      this.#checkIdToken(claims)
      if (config.serverMetadata().userinfo_endpoint && this.#lacks(claims)) {
        const more = await client.fetchUserInfo(config, tokens.access_token, String(claims.sub))
        claims = { ...more, ...claims }
      }
      return { person: signedIn(claims, this.#options.settings), returnTo }
    } catch (error) {
      const known = this.#known(error as Error & { code?: string })
      const isOld = this.#options.clock.now() - this.#discoveredMs >= discoverAgainMs
      // Its addresses or keys may have changed.
      if (isOld || signInUnavailable.is(known)) this.#discovered = undefined
      throw known
    }
  }

  /** Discovered once, and again after a failure a minute later. The library is loaded for the first person who signs in. */
  async #issuer() {
    const client = await import('openid-client')
    const { oidcIssuer, oidcClientId, oidcClientSecret } = this.#options.settings
    const issuer = new URL(oidcIssuer)
    if (!this.#discovered) this.#discoveredMs = this.#options.clock.now()
    this.#discovered ??= client.discovery(
      issuer,
      oidcClientId,
      { client_secret: oidcClientSecret, [client.clockTolerance]: clockToleranceSeconds },
      undefined,
      {
        timeout: issuerWithinSeconds,
        execute: [
          client.enableNonRepudiationChecks,
          ...(issuer.protocol === 'http:' ? [client.allowInsecureRequests] : []),
        ],
      },
    )
    const discovered = this.#discovered
    try {
      return { client, config: await discovered }
    } catch (error) {
      if (this.#discovered === discovered) this.#discovered = undefined
      this.#options.log.warn({ err: error }, 'the issuer of sign-ins cannot be reached')
      throw signInUnavailable()
    }
  }

  /** Rules of OpenID Connect Core that the library leaves to its caller. */
  #checkIdToken({ sub, azp, iat }: Claims): void {
    if (String(sub).trim() === '') throw new Error('The claim sub of the ID token is empty.')
    if (azp !== undefined && azp !== this.#options.settings.oidcClientId)
      throw new Error('The claim azp of the ID token names another client.')
    if (Number(iat) > this.#options.clock.now() / 1000 + clockToleranceSeconds)
      throw new Error('The claim iat of the ID token is in the future.')
  }

  #lacks(claims: Claims): boolean {
    const { oidcGroupsClaim, oidcProjectClaim } = this.#options.settings
    const deciding = [oidcGroupsClaim, ...(oidcProjectClaim ? [oidcProjectClaim] : [])]
    const needed = ['name', 'email', ...deciding, ...(deciding.includes('email') ? ['email_verified'] : [])]
    return needed.some((name) => claimOf(claims, name) === undefined)
  }

  #known(error: Error & { code?: string; error?: string; status?: number }): Error {
    this.#options.log.warn({ err: error }, 'a sign-in failed')
    if (error.name === 'AuthorizationResponseError') {
      return signInRefused(`The issuer refused the sign-in: ${String(error.error).slice(0, 100)}.`)
    }
    const { cause } = error
    const isAway =
      error.code === 'OAUTH_TIMEOUT' ||
      (cause instanceof Response && cause.status >= 500) ||
      // What fetch throws without a connection.
      (error instanceof TypeError && error.message === 'fetch failed')
    return isAway ? signInUnavailable() : signInFailed('The response of the issuer could not be verified.')
  }

  #sign(attempt: Attempt): string {
    const content = Buffer.from(JSON.stringify(attempt)).toString('base64url')
    return `${content}.${this.#signatureOf(content)}`
  }

  #read(signed = ''): Attempt | undefined {
    const [content = '', signature = ''] = signed.split('.')
    const expected = Buffer.from(this.#signatureOf(content))
    const sent = Buffer.from(signature)
    if (sent.length !== expected.length || !timingSafeEqual(sent, expected)) return undefined
    const attempt = JSON.parse(Buffer.from(content, 'base64url').toString()) as Attempt
    return this.#options.clock.now() < attempt.expiresMs ? attempt : undefined
  }

  #signatureOf(content: string): string {
    return createHmac('sha256', this.#options.secret)
      .update(`wellhead sign-in\n${content}`)
      .digest('base64url')
  }
}

const ask = 'ask the administrator of this service'

function signedIn(claims: Claims, settings: OidcSettings): SignedIn {
  const { oidcIssuer, oidcGroupsClaim, oidcProjectClaim, oidcRoles } = settings
  const email = textOf(claims.email) ?? null
  const name = textOf(claims.name) ?? textOf(claims.preferred_username) ?? email ?? String(claims.sub)
  // The same for the same account.
  const id = uuidv5(String(claims.sub), uuidv5(oidcIssuer, uuidv5.URL))
  const person = { id, name, email, role: null, project: null }
  const isUnverified = settings.oidcUnverifiedEmail === 'refuse' && claims.email_verified !== true
  const unverified = {
    message: `Your email address is not verified: the claim email_verified must be true. Verify it where you signed in, or ${ask}.`,
    reason:
      'The claim email_verified must be true. If the issuer never sends it, set WELLHEAD_OIDC_UNVERIFIED_EMAIL.',
  }
  const project = oidcProjectClaim === undefined ? undefined : claimOf(claims, oidcProjectClaim)
  if (project !== undefined && project !== null) {
    if (oidcProjectClaim === 'email' && isUnverified) return { ...person, refusal: unverified }
    const isProject = typeof project === 'string' && /^[^\x00-\x1f\x7f]{1,256}$/.test(project)
    const refusal = {
      message: `Your account has no project here. The claim ${oidcProjectClaim} must be the text of one; to get access, ${ask}.`,
      reason: `The claim ${oidcProjectClaim} must be the text of one project.`,
    }
    return isProject ? { ...person, project, refusal: undefined } : { ...person, refusal }
  }
  if (oidcGroupsClaim === 'email' && isUnverified) return { ...person, refusal: unverified }
  const claimed = claimOf(claims, oidcGroupsClaim)
  const groups = new Set(Array.isArray(claimed) ? claimed : [claimed])
  const found = oidcRoles.find((one) => one.groups.some((group) => group === '*' || groups.has(group)))
  if (found) return { ...person, role: found.role, refusal: undefined }
  const refusal = {
    message: `Your account has no role here. The claim ${oidcGroupsClaim} decides which role it has; to get one, ${ask}.`,
    reason: `No group in the claim ${oidcGroupsClaim} has a role. Add the person to a group, or change WELLHEAD_OIDC_ROLES.`,
  }
  return { ...person, refusal }
}

/** A claim by its name, or by a path such as realm_access.roles. */
function claimOf(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name]
  return name.split('.').reduce<unknown>((value, key) => {
    const isObject = typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    return isObject ? (value as Claims)[key] : undefined
  }, claims)
}

/** People type their names themselves. */
function textOf(claim: unknown): string | undefined {
  if (typeof claim !== 'string') return undefined
  return (
    claim
      .toWellFormed()
      .replace(/\p{Cc}/gu, ' ')
      .trim()
      .slice(0, 200) || undefined
  )
}

/** A page of the console. Anything else leads to its first page. */
function ownPath(returnTo: unknown, origin: string): string {
  if (typeof returnTo !== 'string' || !/^\/(?![/\\])[^\x00-\x20\\]*$/.test(returnTo)) return '/'
  if (returnTo.length > 1000 || !URL.canParse(returnTo, origin)) return '/'
  // Dots in the path are resolved here, as browsers do.
  const { origin: found, pathname, search, hash: place } = new URL(returnTo, origin)
  return found === origin && /^\/(?:console(?:\/|$)|$)/.test(pathname) ? pathname + search + place : '/'
}
