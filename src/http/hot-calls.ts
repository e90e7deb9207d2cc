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
import { quotaHeaders } from './route-access.ts'
import { securityHeaders } from './security-headers.ts'
import type { UsualHeaders } from './usual-headers.ts'

export interface HotCallsOptions {
  access: Access
  calls: EndpointCalls
  log: Log
  /** Undefined where calls are not written down. */
  statistics: CallStatistics | undefined
  requests: RequestCounts
  traces: RequestTraces
  /** So many calls are known at once. */
  maxKnown: number
  /** What an answer depends on beside the address. */
  vary: string
  /** Whether requests are answered as usual at the moment. */
  open: () => boolean
}

export interface KnownCall {
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

type Names = readonly string[]

interface Head {
  /** Of the form that they go with; the form itself would keep a result alive that the cache gave up. */
  etag: string
  /** Names and values in turn, of an answer with its body and of one without. */
  whole: Names
  unchanged: Names
}

export interface HotAnswer {
  status: 200 | 304
  /** Headers that differ from answer to answer, names and values in turn. */
  varying: Names
  /** And those that do not: the list is the same as long as the result is. */
  others: Names
  /** Undefined where the caller has it already. */
  body: Buffer | undefined
  /** Whoever sends the answer says so afterwards. */
  sent: () => void
}

const sameForAll = Object.entries(securityHeaders).flat()

/** A longer address is rare, and would be kept for nothing. */
const maxNameLength = 1024

/**
 * Calls that were answered from the cache. One that comes again, word by word, from the same caller, needs no router, no
 * reading of parameters and no search for its endpoint: its result is looked up. Whatever is not just like it goes the
 * usual way, and the answers are the same on both.
 */
export class HotCalls {
  readonly #options: HotCallsOptions
  readonly #known = new Map<string, KnownCall>()
  readonly #writeLine: LineWriter | undefined
  readonly #onClear: (() => void)[] = []

  constructor(options: HotCallsOptions) {
    this.#options = options
    this.#writeLine = lineWriterOf(options.log)
  }

  /** Remembers a call with GET that was answered from the cache. */
  learn(url: string | undefined, accept: string, call: KnownCall): void {
    const name = nameOf(url, accept, call.caller)
    if (name.length > maxNameLength) return
    this.#known.set(name, call)
    const [oldest] = this.#known.keys()
    if (this.#known.size > this.#options.maxKnown && oldest !== undefined) this.#known.delete(oldest)
  }

  /** Called whenever a name may mean something else than before. */
  clear(): void {
    this.#known.clear()
    for (const listener of this.#onClear) listener()
  }

  onClear(listener: () => void): void {
    this.#onClear.push(listener)
  }

  get areNone(): boolean {
    return this.#known.size === 0
  }

  find(url: string | undefined, headers: UsualHeaders): KnownCall | undefined {
    const caller = this.#options.access.recognise(headers.token)?.caller
    return caller && this.#known.get(nameOf(url, headers.accept, caller))
  }

  /** Undefined where it has to go the usual way. */
  answer(call: KnownCall, url: string | undefined, headers: UsualHeaders): HotAnswer | undefined {
    const { access, calls, open, traces } = this.#options
    const since = performance.now()
    const recognised = access.recognise(headers.token)
    // A token that was changed has another caller.
    if (!open() || recognised?.caller !== call.caller) return undefined
    const answer = calls.again(call.key)
    if (answer === undefined) return undefined
    const form = answer.result.form(chooseCoding(headers.acceptEncoding))
    const held = headers.ifNoneMatch
    if (held !== undefined && held !== form.etag) return undefined
    const quota = access.count(recognised)
    // Which counts nothing, so that the usual way can count it once more.
    if (quota?.exceeded) return undefined
    const trace =
      traces.active || headers.traceparent !== undefined
        ? traces.begin('GET', queryRoute, headers.traceparent, headers.tracestate)
        : undefined
    const id = requestIdOf(headers.requestId)
    if (call.head?.etag !== form.etag) call.head = this.#headOf(form, answer, call.version)
    const status = held === undefined ? 200 : 304
    const body = held === undefined ? form.body : undefined
    const endedAt = performance.now()
    const ms = Math.round((endedAt - since) * 100) / 100
    const varying = [
      ...['X-Request-Id', id, 'Cache-Status', cacheStatus(answer)],
      ...['Age', String(answer.ageSeconds), 'Server-Timing', `total;dur=${ms}`],
    ]
    if (quota) varying.push(...Object.entries(quotaHeaders(quota)).flat())
    return {
      status,
      varying,
      others: held === undefined ? call.head.whole : call.head.unchanged,
      body,
      sent: () => {
        const { rows } = answer.result
        this.#count(call.subject, status, endedAt, endedAt - since, rows, body?.length ?? 0)
        this.#log(call, url, id, status, ms, trace)
        if (trace !== undefined) traces.end(trace, status, { 'wellhead.endpoint': call.endpoint })
      },
    }
  }

  #count(
    subject: CallSubject | undefined,
    status: number,
    endedAt: number,
    totalMs: number,
    rows: number,
    bytes: number,
  ): void {
    const { statistics, requests } = this.#options
    requests.add(status)
    if (statistics === undefined || subject === undefined) return
    statistics.add({
      subject,
      status,
      cache: 'hit',
      endedAt,
      totalMs,
      engineMs: 0,
      rows,
      bytes,
      rowsRead: 0,
      code: '',
      detail: undefined,
    })
  }

  #headOf(form: Form, answer: Found, version: number): Head {
    const { result } = answer
    const unchanged = [
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
    url = '',
    id: string,
    status: number,
    ms: number,
    trace: TraceSpan | undefined,
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

type Found = NonNullable<ReturnType<EndpointCalls['again']>>
type Form = ReturnType<Found['result']['form']>

function nameOf(url: string | undefined, accept: string, { id }: Caller): string {
  return `${id}\n${accept}\n${url}`
}
