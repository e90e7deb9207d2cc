import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Access } from '../access/access.ts'
import type { Caller } from '../access/caller.ts'
import { type LineWriter, type Log, lineWriterOf } from '../base/log.ts'
import type { TraceSpan } from '../base/tracing.ts'
import type { EndpointCalls } from '../endpoints/endpoint-calls.ts'
import type { CallSubject } from '../stats/call-record.ts'
import type { CallStatistics } from '../stats/call-statistics.ts'
import type { RequestCounts } from '../stats/request-counts.ts'
import { cacheControl, cacheStatus, chooseCoding } from './cache-headers.ts'
import { queryRoute } from './query-route.ts'
import { requestIdOf } from './request-id.ts'
import { pathOf } from './request-path.ts'
import { type RequestTraces, traceFields } from './request-traces.ts'
import { securityHeaders } from './security-headers.ts'
import type { UnreadAnswers } from './unread-answers.ts'

export interface HotLaneOptions {
  access: Access
  calls: EndpointCalls
  log: Log
  /** Undefined where calls are not written down. */
  statistics: CallStatistics | undefined
  requests: RequestCounts
  traces: RequestTraces
  unread: UnreadAnswers
  /** So many calls are known at once. */
  maxKnown: number
  /** What an answer depends on beside the address. */
  vary: string
  /** Whether requests are answered as usual at the moment. */
  open: () => boolean
}

type Answer = NonNullable<ReturnType<EndpointCalls['again']>>
type Form = ReturnType<Answer['result']['form']>

interface KnownCall {
  caller: Caller
  key: string
  version: number
  /** Name of the endpoint. */
  endpoint: string
  /** What its calls are written down as. */
  subject: CallSubject | undefined
  /** The headers of the last answer, as long as that is the answer. */
  head?: Head
  /** What of its line in the log is always the same, as JSON. */
  logged?: string
}

interface Head {
  /** Of the form that they go with; the form itself would keep a result alive that the cache gave up. */
  etag: string
  whole: string[]
  unchanged: string[]
}

interface UsualHeaders {
  token: string
  accept: string
  acceptEncoding: string | undefined
  ifNoneMatch: string | undefined
  requestId: string | undefined
  traceparent: string | undefined
  tracestate: string | undefined
}

const sameForAll = Object.entries(securityHeaders).flat()

/** A longer address is rare, and would be kept for nothing. */
const maxNameLength = 1024

/**
 * A call that was answered before, word by word, by the same caller, needs no router, no reading of parameters and no
 * search for its endpoint: its result is looked up and written. Whatever is not just like it goes the usual way, and
 * the answers are the same on both.
 */
export class HotLane {
  readonly #options: HotLaneOptions
  readonly #known = new Map<string, KnownCall>()
  readonly #writeLine: LineWriter | undefined

  constructor(options: HotLaneOptions) {
    this.#options = options
    this.#writeLine = lineWriterOf(options.log)
  }

  /** Puts the lane before the usual way. */
  before(usual: RequestListener): RequestListener {
    return (request, response) => {
      if (!this.#answer(request, response)) usual(request, response)
    }
  }

  /** Remembers a call that was answered from the cache. */
  learn(request: IncomingMessage, call: KnownCall): void {
    const name = nameOf(request.url, request.headers.accept ?? '', call.caller)
    if (request.method !== 'GET' || name.length > maxNameLength) return
    this.#known.set(name, call)
    const [oldest] = this.#known.keys()
    if (this.#known.size > this.#options.maxKnown && oldest !== undefined) this.#known.delete(oldest)
  }

  /** Called whenever a name may mean something else than before. */
  clear(): void {
    this.#known.clear()
  }

  #answer(request: IncomingMessage, response: ServerResponse): boolean {
    const { access, calls, open, statistics, requests, traces } = this.#options
    if (request.method !== 'GET' || this.#known.size === 0 || !open()) return false
    const headers = usualHeaders(request.rawHeaders)
    if (headers === undefined) return false
    const since = performance.now()
    const caller = access.admitUncounted(headers.token)
    const call = caller && this.#known.get(nameOf(request.url, headers.accept, caller))
    // A token that was changed has another caller.
    if (call?.caller !== caller || call === undefined) return false
    const answer = calls.again(call.key)
    if (answer === undefined) return false
    const { result } = answer
    const form = result.form(chooseCoding(headers.acceptEncoding))
    const held = headers.ifNoneMatch
    if (held !== undefined && held !== form.etag) return false
    const trace =
      traces.active || headers.traceparent !== undefined
        ? traces.begin('GET', queryRoute, headers.traceparent, headers.tracestate)
        : undefined
    const id = requestIdOf(headers.requestId)
    if (call.head?.etag !== form.etag) call.head = this.#headOf(form, answer, call.version)
    const sent = (held === undefined ? call.head.whole : call.head.unchanged).slice()
    sent[at.requestId] = id
    sent[at.cacheStatus] = cacheStatus(answer)
    sent[at.age] = String(answer.ageSeconds)
    const endedAt = performance.now()
    const ms = Math.round((endedAt - since) * 100) / 100
    sent[at.timing] = `total;dur=${ms}`
    const status = held === undefined ? 200 : 304
    response.writeHead(status, sent)
    if (held !== undefined) response.end()
    else if (form.body.length <= maxBytesOfOneWrite) endWithOneWrite(response, form.body)
    else {
      this.#options.unread.add(form.body, response)
      response.end(form.body)
    }
    requests.add(status)
    if (statistics !== undefined && call.subject !== undefined) {
      statistics.add({
        subject: call.subject,
        status,
        cache: 'hit',
        endedAt,
        totalMs: endedAt - since,
        engineMs: 0,
        rows: result.rows,
        bytes: held === undefined ? form.body.length : 0,
        rowsRead: 0,
        code: '',
        detail: undefined,
      })
    }
    this.#log(call, request, id, status, ms, trace)
    if (trace !== undefined) traces.end(trace, status, { 'wellhead.endpoint': call.endpoint })
    return true
  }

  #headOf(form: Form, answer: Answer, version: number): Head {
    const { result } = answer
    const unchanged = [
      ...['X-Request-Id', '', 'Cache-Status', '', 'Age', '', 'Server-Timing', ''],
      ...sameForAll,
      ...['Vary', this.#options.vary],
      ...['Wellhead-Version', String(version)],
      ...['Cache-Control', cacheControl(answer)],
      ...['ETag', form.etag],
      ...(result.truncated ? ['Wellhead-Truncated', 'true'] : []),
    ]
    const body = ['Content-Type', result.contentType, 'Content-Length', String(form.body.length)]
    if (form.coding !== 'identity') body.push('Content-Encoding', form.coding)
    return { etag: form.etag, unchanged, whole: [...unchanged, ...body] }
  }

  #log(
    call: KnownCall,
    { url = '' }: IncomingMessage,
    id: string,
    status: number,
    ms: number,
    trace?: TraceSpan,
  ): void {
    if (trace === undefined && this.#writeLine !== undefined) {
      call.logged ??= `"method":"GET","path":${JSON.stringify(pathOf(url))}`
      // An id has no character that would have to be escaped.
      this.#writeLine(`"request_id":"${id}",${call.logged},"status":${status},"ms":${ms}`, 'request')
      return
    }
    const line = { request_id: id, method: 'GET', path: pathOf(url), status, ms, ...traceFields(trace) }
    this.#options.log.info(line, 'request')
  }
}

/** For more than that, copying the bytes costs what it saves. */
const maxBytesOfOneWrite = 4096

interface WithSend {
  _send?: (data: string, encoding: 'latin1') => boolean
}

/**
 * `end(body)` gives the socket head, body and an empty piece that tells the end, and putting pieces together costs more
 * than copying a few bytes. What `write` and `end` call inside sends head and body as one text, or keeps it until it is
 * this answer's turn; in latin1 every byte is a character. Where that method is not there, the usual way is taken.
 */
function endWithOneWrite(response: ServerResponse & WithSend, body: Buffer): void {
  if (response._send === undefined) {
    response.end(body)
    return
  }
  response._send(body.toString('latin1'), 'latin1')
  response.end()
}

/** Places of what differs from answer to answer. */
const at = { requestId: 1, cacheStatus: 3, age: 5, timing: 7 } as const

function nameOf(url: string | undefined, accept: string, { id }: Caller): string {
  return `${id}\n${accept}\n${url}`
}

/**
 * The headers as they came: the object that Node would make of them takes longer than the rest of the answer. Undefined
 * where one of them asks for something out of the ordinary, or comes twice.
 */
function usualHeaders(raw: readonly string[]): UsualHeaders | undefined {
  let token: string | undefined
  let accept: string | undefined
  let acceptEncoding: string | undefined
  let ifNoneMatch: string | undefined
  let requestId: string | undefined
  let traceparent: string | undefined
  let tracestate: string | undefined
  for (let i = 0; i < raw.length; i += 2) {
    const value = raw[i + 1] as string
    switch ((raw[i] as string).toLowerCase()) {
      case 'x-api-key':
        if (token !== undefined) return undefined
        token = value
        break
      case 'accept':
        if (accept !== undefined) return undefined
        accept = value
        break
      case 'accept-encoding':
        if (acceptEncoding !== undefined) return undefined
        acceptEncoding = value
        break
      case 'if-none-match':
        if (ifNoneMatch !== undefined) return undefined
        ifNoneMatch = value
        break
      case 'x-request-id':
        if (requestId !== undefined) return undefined
        requestId = value
        break
      case 'traceparent':
        if (traceparent !== undefined) return undefined
        traceparent = value
        break
      case 'tracestate':
        if (tracestate !== undefined) return undefined
        tracestate = value
        break
      case 'authorization':
      case 'cache-control':
      case 'expect':
      case 'if-match':
      case 'origin':
      case 'range':
      case 'upgrade':
        return undefined
    }
  }
  return token === undefined
    ? undefined
    : { token, accept: accept ?? '', acceptEncoding, ifNoneMatch, requestId, traceparent, tracestate }
}
