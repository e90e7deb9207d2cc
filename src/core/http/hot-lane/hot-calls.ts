import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { LRUCache } from 'lru-cache'
import type { Access } from '../../access/access.ts'
import type { Caller } from '../../access/caller.ts'
import { atMost } from '../../base/cache-limit.ts'
import type { EndpointCalls } from '../../endpoints/call/endpoint-calls.ts'
import type { Phase } from '../phase.ts'
import type { RequestRecord } from '../request-record.ts'
import { pathOf, queryRoute, type RequestRecorder, requestIdOf, text } from '../request-recorder.ts'
import { bearerToken, quotaHeaders } from '../route-access.ts'
import { dataHeaders, variesByOrigin } from '../security-headers.ts'
import { cacheControl, cacheStatus, chooseCoding, resultVary } from '../send-result.ts'
import type { SessionCookies } from '../session-cookies.ts'
import type { UnreadResponses } from './unread-responses.ts'

interface HotCallsOptions {
  access: Access
  cookies: SessionCookies
  calls: EndpointCalls
  recorder: RequestRecorder
  unread: UnreadResponses
  /** Origins whose pages can send requests. */
  corsOrigins: readonly string[]
  phase: () => Phase
}

interface HotCall {
  caller: Caller
  key: string
  /** Of the request that it repeats. */
  record: RequestRecord
  /** What stays the same from one response to the next. */
  heads?: Heads
}

/** Names and values in turn. They begin with X-Request-Id and Server-Timing, whose values change. */
type Head = string[]

/** Headers and what they depend on. A reference to the result itself would keep it in memory after eviction. */
interface Heads {
  etag: string
  ageSeconds: number
  ttlSeconds: number
  200: Head
  304: Head
}

const maxKnown = 20_000
/** Longer URLs are rare and not worth the memory. */
const maxNameLength = 1024

type Found = NonNullable<ReturnType<EndpointCalls['peek']>>
type Form = ReturnType<Found['result']['form']>

/** Serves cache hits that repeat an earlier request before Fastify, which serves the rest with equal responses. */
export class HotCalls {
  readonly #options: HotCallsOptions
  readonly #known: LRUCache<string, HotCall>
  readonly #vary: string

  constructor(options: HotCallsOptions) {
    this.#options = options
    this.#known = new LRUCache(atMost(maxKnown))
    this.#vary = variesByOrigin(options.corsOrigins) ? `${resultVary}, Origin` : resultVary
  }

  learn(url: string | undefined, accept: string, call: HotCall): void {
    const name = nameOf(url, accept, call.caller)
    if (name.length <= maxNameLength) this.#known.set(name, call)
  }

  /** Called whenever a URL may refer to something else than before. */
  clear(): void {
    this.#known.clear()
  }

  before(framework: RequestListener): RequestListener {
    return (request, response) => {
      if (!this.#serve(request, response)) framework(request, response)
    }
  }

  /** Returns false, with nothing counted, if the framework must serve the request. */
  #serve(request: IncomingMessage, response: ServerResponse): boolean {
    if (request.method !== 'GET' || this.#known.size === 0) return false
    const since = performance.now()
    const { access, cookies, calls, phase, unread, recorder } = this.#options
    const { headers } = request
    const token = tokenOf(request, cookies)
    const recognized = token ? access.recognize(token) : undefined
    const call = recognized && this.#known.get(nameOf(request.url, headers.accept ?? '', recognized.caller))
    if (!call || phase() !== 'open') return false
    const found = calls.peek(call.key)
    if (found === undefined) return false
    const form = found.result.form(chooseCoding(text(headers['accept-encoding'])))
    const etag = found.result.etags[form.coding]
    const held = headers['if-none-match']
    if (held !== undefined && held !== etag) return false
    const quota = access.count(recognized)
    // A refusal is not counted, so the framework can count it.
    if (quota?.exceeded) return false
    calls.cache.lookup(call.key)
    const { url = '' } = request
    const trace = recorder.trace('GET', queryRoute, url, headers)
    const id = requestIdOf(headers['x-request-id'])
    const heads = this.#headsOf(call, form, etag, found)
    const totalMs = performance.now() - since
    const status = held === undefined ? 200 : 304
    const head = heads[status]
    head[1] = id
    head[3] = `total;dur=${Math.round(totalMs * 100) / 100}`
    response.writeHead(status, quota ? [...head, ...Object.entries(quotaHeaders(quota)).flat()] : head)
    const body = held === undefined ? form.body : undefined
    if (body) unread.add(body, response)
    response.end(body)
    const record: RequestRecord = {
      ...call.record,
      requestId: id,
      status,
      cache: 'hit',
      totalMs,
      engineMs: 0,
      rowsRead: 0,
      rows: found.result.rows,
      bytes: body?.length ?? 0,
    }
    recorder.add(record)
    trace?.set({ 'wellhead.endpoint': record.endpoint })
    recorder.finish(record, pathOf(url), trace)
    return true
  }

  #headsOf(call: HotCall, form: Form, etag: string, found: Found): Heads {
    const { result, ageSeconds, ttlSeconds } = found
    const known = call.heads
    if (known?.etag === etag && known.ageSeconds === ageSeconds && known.ttlSeconds === ttlSeconds)
      return known
    const unchanged: Head = [
      'X-Request-Id',
      '',
      'Server-Timing',
      '',
      'Cache-Status',
      cacheStatus(found),
      'Age',
      String(ageSeconds),
      ...Object.entries(dataHeaders).flat(),
      'Vary',
      this.#vary,
      'Wellhead-Version',
      String(call.record.version),
      'Cache-Control',
      cacheControl(found),
      'ETag',
      etag,
      ...(result.truncated ? ['Wellhead-Truncated', 'true'] : []),
    ]
    const body = ['Content-Type', result.contentType, 'Content-Length', String(form.body.length)]
    if (form.coding !== 'identity') body.push('Content-Encoding', form.coding)
    call.heads = { etag, ageSeconds, ttlSeconds, 200: [...unchanged, ...body], 304: unchanged }
    return call.heads
  }
}

/** A changed token has another tag, and sessions with the same rights share one. */
function nameOf(url: string | undefined, accept: string, { tag }: Caller): string {
  return `${tag}\n${accept}\n${url}`
}

/** Node reports an invalid body after the request, when the response would already be sent. */
const needFramework =
  'content-length transfer-encoding cache-control expect if-match origin range upgrade'.split(' ')

/** The token of a request that needs nothing of the framework, which refuses some headers that occur twice. */
function tokenOf(request: IncomingMessage, cookies: SessionCookies): string | undefined {
  const { headers, rawHeaders } = request
  if (rawHeaders.length !== 2 * Object.keys(headers).length) return undefined
  for (const name of needFramework) if (headers[name] !== undefined) return undefined
  const { host, 'x-api-key': key, authorization, cookie } = headers
  if (host === undefined || (key !== undefined && authorization !== undefined)) return undefined
  if (key !== undefined) return text(key)
  if (authorization !== undefined) return bearerToken(authorization)
  return cookies.allows(request) ? cookies.read(cookie) : undefined
}
