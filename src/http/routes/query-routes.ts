import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Caller, withFixedParameters } from '../../access/caller.ts'
import {
  endpointNotFound,
  forbidden,
  invalidBody,
  invalidParameter,
  notAcceptable,
} from '../../base/errors.ts'
import { notWellFormed } from '../../base/validation.ts'
import type { EndpointCall, EndpointCalls } from '../../endpoints/call/endpoint-calls.ts'
import { EngineTime } from '../../endpoints/call/engine-time.ts'
import { type OutputFormat, outputFormats } from '../../endpoints/call/output-formats.ts'
import type { Endpoints } from '../../endpoints/manage/endpoints.ts'
import type { LiveResults } from '../../live/live-results.ts'
import { readCacheDirectives } from '../cache-headers.ts'
import type { CallNotes, CallRecorder } from '../call-recording.ts'
import type { HotCalls } from '../hot-lane/hot-calls.ts'
import { queryRoute } from '../hot-lane/hot-calls.ts'
import { sendResult } from '../send-result.ts'
import { type EventStreams, eventStreamType } from '../streams/event-streams.ts'
import { followResult } from '../streams/follow-result.ts'

export interface QueryRoutes {
  endpoints: Endpoints
  calls: EndpointCalls
  results: LiveResults
}

type Call = { Params: { reference: string } }

/** GET and POST of a saved query. */
export function addQueryRoutes(
  server: FastifyInstance,
  { endpoints, calls, results }: QueryRoutes,
  streams: EventStreams,
  hot: HotCalls,
  recorder: CallRecorder | undefined,
): void {
  const following = { endpoints, calls, results, streams }
  const answer = async (request: FastifyRequest<Call>, reply: FastifyReply, sent: [string, unknown][]) => {
    const since = performance.now()
    const engineTime = new EngineTime()
    const notes: CallNotes = { engineTime }
    request.recorded = notes
    const caller = request.caller as Caller
    const { parameters, control } = readParameters(sent)
    const endpoint = allowedEndpoint(endpoints, caller, request.params.reference, control.get('_version'))
    notes.endpoint = endpoint
    const format = chooseFormat(control.get('_format'), request.headers.accept, request.method !== 'POST')
    notes.format = format === 'events' ? format : format.name
    const call: EndpointCall = {
      endpoint,
      parameters: withFixedParameters(caller, parameters),
      format: format === 'events' ? jsonFormat : format,
      caller: caller.id,
      project: caller.project,
      signal: goneSignal(request, reply, () => recorder?.left(request, reply)),
      directives: readCacheDirectives(request.headers['cache-control']),
      trace: request.trace,
      engineTime,
    }
    reply.header('Wellhead-Version', String(endpoint.version))
    if (control.has('_explain')) {
      if (!caller.isAdmin) throw forbidden('_explain needs a token with the scope admin.')
      notes.done = true
      return calls.explain(call)
    }
    if (format === 'events') return followResult(following, request, reply, call)
    const answered = calls.call(call)
    if (answered instanceof Promise) notes.explain = () => calls.explain(explained(call))
    const result = answered instanceof Promise ? await answered : answered
    notes.answer = result
    // What had to be waited for may be of an endpoint that changed meanwhile.
    if (result.kind === 'cached' && result === answered && request.method === 'GET') {
      const subject = recorder?.subjectOf(endpoint, caller, request.method, format.name)
      const { version, definition } = endpoint
      const known = { caller, key: result.key, version, endpoint: definition.name, subject }
      hot.learn(request.url, request.headers.accept ?? '', known)
    }
    return sendResult(request, reply, result, format.contentType, since)
  }
  const options = {
    config: { access: 'query' },
    onResponse: (request: FastifyRequest, reply: FastifyReply, done: () => void) => {
      recorder?.answered(request, reply)
      done()
    },
  } as const
  server.get<Call>(queryRoute, options, (request, reply) => answer(request, reply, inAddress(request)))
  server.post<Call>(queryRoute, options, (request, reply) => {
    const body = request.body ?? {}
    if (typeof body !== 'object' || Array.isArray(body)) throw invalidBody('The body must be a JSON object.')
    return answer(request, reply, [...inAddress(request), ...Object.entries(body)])
  })
}

/** Read by hand: the framework's own reading cannot tell one that is sent twice from a list. */
function inAddress(request: FastifyRequest): [string, unknown][] {
  const at = request.url.indexOf('?')
  if (at < 0) return []
  const search = request.url.slice(at + 1)
  const sent = [...new URLSearchParams(search)]
  // Bytes that are no UTF-8 were read as this character, which is seldom sent itself.
  const replaced = sent.find(([name, value]) => name.includes('\ufffd') || value.includes('\ufffd'))
  if (replaced && !isUtf8(search)) {
    throw invalidParameter(replaced[0], `${replaced[0]} must be UTF-8, escaped with %.`)
  }
  return sent
}

/** A percent sign that escapes nothing is taken for itself, as URLSearchParams does. */
function isUtf8(search: string): boolean {
  try {
    decodeURIComponent(search.replace(/%(?![\da-f]{2})/gi, '%25'))
    return true
  } catch {
    return false
  }
}

/** The endpoint, in the version that the caller was made for if it names one. */
function allowedEndpoint(endpoints: Endpoints, caller: Caller, reference: string, asked: string | undefined) {
  const endpoint = endpoints.find(reference)
  // Whoever may call some endpoints only is not told which others there are.
  if (!caller.mayQuery(endpoint?.definition.name ?? ''))
    throw forbidden('This token may not call this endpoint.')
  if (!endpoint) throw endpointNotFound(reference)
  if (asked === undefined) return endpoint
  const version = /^[1-9]\d{0,8}$/.test(asked) ? endpoints.version(reference, Number(asked)) : undefined
  if (version) return version
  throw invalidParameter(
    '_version',
    `_version must be a version of the endpoint; the newest is ${endpoint.version}.`,
  )
}

/** What begins with an underscore steers the call and cannot meet a parameter of a query. */
function readParameters(sent: [string, unknown][]) {
  const parameters: Record<string, string> = Object.create(null)
  const control = new Map<string, string>()
  for (const [name, value] of sent) {
    const text = textOf(name, value)
    if (Object.hasOwn(parameters, name) || control.has(name)) {
      throw invalidParameter(name, `${name} was sent twice.`)
    }
    // Null in a body is the same as leaving the parameter out.
    if (text === undefined) continue
    if (name.startsWith('_')) control.set(name, text)
    else parameters[name] = text
  }
  return { parameters, control }
}

function textOf(name: string, value: unknown): string | undefined {
  if (value === null) return undefined
  if (typeof value === 'string') {
    if (value.isWellFormed()) return value
    throw invalidParameter(name, `${name} ${notWellFormed}.`)
  }
  if (typeof value === 'number' && !Number.isSafeInteger(value) && Number.isInteger(value)) {
    throw invalidParameter(name, `${name} is too large for a number of JSON; send it as a text.`)
  }
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  throw invalidParameter(name, `${name} must be a text.`)
}

const [jsonFormat] = outputFormats as [OutputFormat]

/** What is named goes before what is accepted. */
function chooseFormat(
  named: string | undefined,
  accept: string | undefined,
  mayStream: boolean,
): OutputFormat | 'events' {
  if (mayStream && named === undefined && acceptedTypes(accept ?? '')[0] === eventStreamType) return 'events'
  if (named !== undefined) {
    const format = outputFormats.find(({ name }) => name === named)
    if (format) return format
    throw notAcceptable(outputFormats.map(({ name }) => name))
  }
  if (accept === undefined || accept.trim() === '') return jsonFormat
  for (const type of acceptedTypes(accept)) {
    if (type === '*/*' || type === 'application/*') return jsonFormat
    const format = outputFormats.find(({ contentType }) => contentType.split(';')[0] === type)
    if (format) return format
  }
  throw notAcceptable(outputFormats.map(({ contentType }) => contentType.split(';')[0] as string))
}

/** The types that a caller takes, the most wanted first. */
function acceptedTypes(accept: string): string[] {
  return accept
    .split(',')
    .map((part) => {
      const [type = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase())
      const quality = Number(parameters.find((text) => text.startsWith('q='))?.slice(2) ?? 1)
      return { type, quality }
    })
    .filter(({ quality }) => quality > 0)
    .sort((a, b) => b.quality - a.quality)
    .map(({ type }) => type)
}

/** So long a look at a call that is over may take. */
const explainWithinMs = 10_000
/** Such looks stand in one line of their own. */
const explainer = 'wellhead:explaining'

/** The same call for somebody who only directives to know what it does. */
function explained({ endpoint, parameters, format, project, directives }: EndpointCall): EndpointCall {
  const signal = AbortSignal.timeout(explainWithinMs)
  return { endpoint, parameters, format, project, directives, caller: explainer, signal }
}

/** Aborted when the caller's connection ends before the answer. */
export function goneSignal(request: FastifyRequest, reply: FastifyReply, onGone?: () => void): AbortSignal {
  const gone = new AbortController()
  reply.raw.once('close', () => {
    if (reply.raw.writableFinished) return
    gone.abort(new Error(`The caller of ${request.id} went away.`))
    onGone?.()
  })
  return gone.signal
}
