import type { FastifyRequest } from 'fastify'
import { type Caller, withFixedParameters } from '../access/caller.ts'
import { invalidParameter, notAcceptable, unknownParameter } from '../base/errors.ts'
import { notWellFormed } from '../base/validation.ts'
import { type OutputFormat, outputFormats, withIsoTimestamps } from '../endpoints/call/output-formats.ts'
import { type EndpointCall, parameterNames } from '../endpoints/call/prepared-call.ts'
import { readWeights } from './cache-headers.ts'
import { eventStreamType } from './streams/event-streams.ts'

/** The framework cannot tell a repeated parameter from a list. */
export function queryParameters(request: FastifyRequest): [string, unknown][] {
  const at = request.url.indexOf('?')
  if (at < 0) return []
  const search = request.url.slice(at + 1)
  const sent = [...new URLSearchParams(search)]
  // Invalid UTF-8 decodes to this character, which callers rarely send.
  const replaced = sent.find(([name, value]) => name.includes('\ufffd') || value.includes('\ufffd'))
  if (replaced && !isUtf8(search)) {
    throw invalidParameter(replaced[0], `${replaced[0]} must be percent-encoded UTF-8.`)
  }
  return sent
}

/** A percent sign that escapes nothing stands for itself, as in URLSearchParams. */
function isUtf8(search: string): boolean {
  try {
    decodeURIComponent(search.replace(/%(?![\da-f]{2})/gi, '%25'))
    return true
  } catch {
    return false
  }
}

export interface SentParameters {
  /** All names, also those whose value is null. */
  names: ReadonlySet<string>
  parameters: Readonly<Record<string, string>>
  control: ReadonlyMap<string, string>
}

/** Names that begin with an underscore control the request; parameters of a query cannot have them. */
export function readParameters(sent: readonly [string, unknown][]): SentParameters {
  const parameters: Record<string, string> = Object.create(null)
  const control = new Map<string, string>()
  const names = new Set<string>()
  for (const [name, value] of sent) {
    const text = textOf(name, value)
    if (names.has(name)) throw invalidParameter(name, `${name} was sent twice.`)
    names.add(name)
    // Null in a body means that the parameter is omitted.
    if (text === undefined) continue
    if (name.startsWith('_')) control.set(name, text)
    else parameters[name] = text
  }
  return { names, parameters, control }
}

function textOf(name: string, value: unknown): string | undefined {
  if (value === null) return undefined
  if (typeof value === 'string') {
    if (value.isWellFormed()) return value
    throw invalidParameter(name, `${name} ${notWellFormed}.`)
  }
  if (typeof value === 'number' && !Number.isSafeInteger(value) && Number.isInteger(value)) {
    throw invalidParameter(name, `${name} is too large for a JSON number. Send it as text.`)
  }
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  throw invalidParameter(name, `${name} must be text.`)
}

const controlNames = ['_format', '_version', '_strict', '_timestamps', '_explain']

export function isStrict(control: ReadonlyMap<string, string>): boolean {
  const value = control.get('_strict')
  if (value === undefined || value === '0' || value === 'false') return false
  if (value === '1' || value === 'true') return true
  throw invalidParameter('_strict', '_strict must be 1 or 0.')
}

function refuseUnknown({ names }: SentParameters, declared: readonly string[]): void {
  for (const name of names) {
    const known = name.startsWith('_') ? controlNames : declared
    if (!known.includes(name)) throw unknownParameter(name, known)
  }
}

/** The call of a request, whichever route it takes. Throws if the caller may not send its parameters. */
export function endpointCall(
  caller: Caller,
  sent: SentParameters,
  strict: boolean,
  request: Omit<EndpointCall, 'parameters' | 'caller' | 'project'>,
): EndpointCall {
  const { endpoint } = request
  if (strict || endpoint.definition.strict) {
    refuseUnknown(sent, [...parameterNames(endpoint), ...Object.keys(caller.parameters)])
  }
  const parameters = withFixedParameters(caller, sent.parameters)
  return { ...request, parameters, caller: caller.id, project: caller.project }
}

const [json] = outputFormats as [OutputFormat]

/** Reads `_format` and `_timestamps`. `_format` takes precedence over Accept. */
export function chooseFormat(
  control: ReadonlyMap<string, string>,
  accept: string | undefined,
  mayStream: boolean,
): { format: OutputFormat; streamed: boolean } {
  const named = control.get('_format')
  const streamed = mayStream && named === undefined && acceptedTypes(accept ?? '')[0] === eventStreamType
  const format = streamed ? json : named === undefined ? acceptedFormat(accept) : namedFormat(named)
  const timestamps = control.get('_timestamps')
  if (timestamps === undefined) return { format, streamed }
  if (timestamps !== 'iso') throw invalidParameter('_timestamps', '_timestamps must be iso.')
  return { format: withIsoTimestamps(format), streamed }
}

function namedFormat(named: string): OutputFormat {
  const format = outputFormats.find(({ name }) => name === named)
  if (format) return format
  throw notAcceptable(outputFormats.map(({ name }) => name))
}

function acceptedFormat(accept: string | undefined): OutputFormat {
  if (accept === undefined || accept.trim() === '') return json
  for (const type of acceptedTypes(accept)) {
    if (type === '*/*') return json
    const format = outputFormats.find(({ contentType }) => matches(contentType, type))
    if (format) return format
  }
  throw notAcceptable(outputFormats.map(({ contentType }) => contentType.split(';')[0] as string))
}

/** A range such as text/* matches every format of that kind. */
function matches(contentType: string, range: string): boolean {
  return range.endsWith('/*')
    ? contentType.startsWith(range.slice(0, -1))
    : contentType.split(';')[0] === range
}

/** Accepted media types, the most preferred first. */
function acceptedTypes(accept: string): string[] {
  const accepted = [...readWeights(accept)].filter(([, weight]) => weight > 0)
  return accepted.sort(([, one], [, other]) => other - one).map(([type]) => type)
}
