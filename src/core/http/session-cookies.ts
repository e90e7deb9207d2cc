import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Access } from '../access/access.ts'
import type { SessionCookie } from '../access/sessions.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The session in the cookie of a request that has no token in a header. */
    cookieToken: string | undefined
  }
}

interface SessionCookiesOptions {
  access: Access
  /** Origin of the service as browsers see it. Undefined: the one that each request names. */
  publicUrl: string | undefined
  sessionHours: number
}

/** A page of another host name or of a subdomain cannot set a cookie with this prefix. */
const secureName = '__Host-wellhead'
const plainName = 'wellhead'

/** The session of a browser: a cookie that scripts cannot read and other sites cannot use. */
export class SessionCookies {
  readonly #options: SessionCookiesOptions
  readonly #names: readonly string[]

  constructor(options: SessionCookiesOptions) {
    this.#options = options
    this.#names = options.publicUrl?.startsWith('https:') ? [secureName] : [secureName, plainName]
  }

  get lengthMs(): number {
    return this.#options.sessionHours * 3_600_000
  }

  read(header: string | undefined): string | undefined {
    if (header === undefined || !header.includes(plainName)) return undefined
    const found = this.#names.map((name) => readCookie(header, name)).find((value) => value !== undefined)
    // A token in a cookie was not put there by this service.
    return found?.startsWith('whs_') ? found : undefined
  }

  /** Another cookie of this service. */
  readAny({ headers: { cookie = '' } }: FastifyRequest, name: string): string | undefined {
    return readCookie(cookie, `__Host-${name}`) ?? readCookie(cookie, name)
  }

  set(request: FastifyRequest, reply: FastifyReply, { text, expiresMs }: SessionCookie): void {
    const expires = new Date(expiresMs).toUTCString()
    this.add(request, reply, plainName, `${text}; Expires=${expires}`)
  }

  clear(request: FastifyRequest, reply: FastifyReply): void {
    this.add(request, reply, plainName, '; Max-Age=0')
  }

  /** Adds a cookie of the service, under a name that only this origin can set where the browser has one. */
  add(request: FastifyRequest, reply: FastifyReply, name: string, value: string): void {
    const isSecure = this.#isSecure(request)
    const full = isSecure ? `__Host-${name}` : name
    const rest = `Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`
    // The last one of a name counts, such as signing out with a cookie that was about to be renewed.
    const others = [reply.getHeader('Set-Cookie') ?? []]
      .flat()
      .filter((one) => !String(one).startsWith(`${full}=`))
    reply
      .removeHeader('Set-Cookie')
      .header('Set-Cookie', [...others.map(String), `${full}=${value}; ${rest}`])
  }

  /** Sets a cookie that lasts longer, or removes one that is no longer valid. */
  renew(request: FastifyRequest, reply: FastifyReply, isValid: boolean): void {
    if (!isValid) this.clear(request, reply)
    const renewed = this.#options.access.renewCookie(request.cookieToken ?? '', this.lengthMs)
    if (renewed) this.set(request, reply, renewed)
  }

  /** Whether the browser sent the request for a page or an action of its user here: it sends the cookie for other sites, too. */
  allows({ method, headers }: Pick<IncomingMessage, 'method' | 'headers'>): boolean {
    if (method !== 'GET' && method !== 'HEAD') return this.isOwn({ headers })
    const site = headers['sec-fetch-site']
    // Browsers do not send it over plain HTTP.
    if (site === undefined) return readCookie(headers.cookie ?? '', secureName) === undefined
    return site === 'same-origin' || site === 'none'
  }

  /** Whether a page of this service sent the request. Browsers name the origin of every request that changes something. */
  isOwn({ headers: { origin, host } }: Pick<IncomingMessage, 'headers'>): boolean {
    if (origin === undefined) return false
    const { publicUrl } = this.#options
    return origin === publicUrl || (publicUrl === undefined && /^https?:\/\/(.+)$/.exec(origin)?.[1] === host)
  }

  /** Behind a proxy, only the browser knows: it names the origin, or already has a cookie of a secure connection. */
  #isSecure(request: FastifyRequest): boolean {
    const { publicUrl } = this.#options
    const { origin, cookie = '' } = request.headers
    if (publicUrl !== undefined) return publicUrl.startsWith('https:')
    return (this.isOwn(request) && origin?.startsWith('https:')) || cookie.includes(`${secureName}=`)
  }
}

/** The first cookie of a name, as it was sent. */
function readCookie(header: string, name: string): string | undefined {
  for (const pair of header.split(';')) {
    const [key, ...value] = pair.split('=')
    if (key?.trim() === name) return value.join('=').trim()
  }
  return undefined
}
