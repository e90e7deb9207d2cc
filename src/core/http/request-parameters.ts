import type { FastifyRequest } from 'fastify'
import { listText } from '../../shared/list-text.ts'
import { type Caller, withFixedParameters } from '../access/caller.ts'
import { invalidParameter, notAcceptable, unknownParameter } from '../base/errors.ts'
import { grouped } from '../base/grouped.ts'
import { notWellFormed } from '../base/validation.ts'
import { type Call, type CallRequest, callOf, parameterNames } from '../endpoints/call/call.ts'
import {
  forSpreadsheets,
  type OutputFormat,
  outputFormats,
  withIsoTimestamps,
} from '../endpoints/call/output-formats.ts'
import type { Endpoint } from '../endpoints/definition/endpoint.ts'
import { declarationOf } from '../endpoints/definition/parameter-declaration.ts'
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
  /** Parameters that were sent more than once or as an array, which only lists can be. */
  lists: ReadonlyMap<string, { values: readonly string[]; problem: string }>
  control: ReadonlyMap<string, string>
}

/** Names that begin with an underscore control the request; parameters of a query cannot have them. */
export function readParameters(sent: readonly [string, unknown][]): SentParameters {
  const parameters: Record<string, string> = Object.create(null)
  const lists = new Map<string, { values: string[]; problem: string }>()
  const control = new Map<string, string>()
  const byName = grouped(sent, ([name]) => name)
  for (const [name, pairs] of byName) {
    const values = pairs.map(([, value]) => value)
    const [value] = values
    const isControl = name.startsWith('_')
    if (values.length > 1 || (Array.isArray(value) && !isControl)) {
      if (isControl || (values.length > 1 && values.some(Array.isArray))) throw sentTwice(name)
      const list = values.length > 1 ? values : (value as unknown[])
      const texts = list.map((each) => textOf(name, each) ?? refuse(name, 'must not contain null.'))
      lists.set(name, { values: texts, problem: values.length > 1 ? 'was sent twice.' : 'must be text.' })
      continue
    }
    const text = textOf(name, value)
    // Null in a body means that the parameter is omitted.
    if (text === undefined) continue
    if (isControl) control.set(name, text)
    else parameters[name] = text
  }
  return { names: new Set(byName.keys()), parameters, lists, control }
}

/** The text of each parameter, as the endpoint declares it. Throws if several values were sent of one that is no list. */
export function textsFor({ definition }: Endpoint, { parameters, lists }: SentParameters) {
  const texts = Object.assign(Object.create(null) as Record<string, string>, parameters)
  const isList = (name: string) => declarationOf(definition.parameters, name).type === 'list'
  for (const name of Object.keys(parameters))
    if (isList(name)) texts[name] = listText([parameters[name] as string])
  for (const [name, { values, problem }] of lists) {
    if (!isList(name)) refuse(name, problem)
    texts[name] = listText(values)
  }
  return texts
}

const refuse = (name: string, problem: string): never => {
  throw invalidParameter(name, `${name} ${problem}`)
}

export const sentTwice = (name: string) => invalidParameter(name, `${name} was sent twice.`)

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

const controlNames = ['_format', '_version', '_strict', '_timestamps', '_raw', '_explain']

export function isStrict(control: ReadonlyMap<string, string>): boolean {
  return isSet(control, '_strict', false)
}

function isSet(control: ReadonlyMap<string, string>, name: string, preset: boolean): boolean {
  const value = control.get(name)
  if (value === undefined) return preset
  if (value === '1' || value === 'true') return true
  if (value === '0' || value === 'false') return false
  throw invalidParameter(name, `${name} must be 1 or 0.`)
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
  request: Omit<CallRequest, 'parameters' | 'caller' | 'project' | 'retentionDays'>,
): Call {
  const { endpoint } = request
  if (strict || endpoint.definition.strict) {
    refuseUnknown(sent, [...parameterNames(endpoint), ...Object.keys(caller.parameters)])
  }
  const parameters = withFixedParameters(caller, textsFor(endpoint, sent))
  const { id, project, retentionDays } = caller
  return callOf({ ...request, parameters, fixed: caller.parameters, caller: id, project, retentionDays })
}

const [json] = outputFormats as [OutputFormat]

/** Reads `_format`, `_raw` and `_timestamps`. `_format` takes precedence over Accept. */
export function chooseFormat(
  control: ReadonlyMap<string, string>,
  accept: string | undefined,
  mayStream: boolean,
): { format: OutputFormat; streamed: boolean } {
  const named = control.get('_format')
  const streamed = mayStream && named === undefined && acceptedTypes(accept ?? '')[0] === eventStreamType
  const chosen = streamed ? json : named === undefined ? acceptedFormat(accept) : namedFormat(named)
  const format = isSet(control, '_raw', true) ? chosen : forSpreadsheets(chosen)
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

/** The weights of a list such as "br;q=0.5, gzip", by name in lower case. */
export function readWeights(header: string): Map<string, number> {
  const weights = new Map<string, number>()
  for (const part of header.toLowerCase().split(',')) {
    const [coding = '', ...parameters] = part.split(';').map((piece) => piece.trim())
    const q = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2)
    const weight = q === undefined ? 1 : /^(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(q) ? Number(q) : 0
    if (coding !== '') weights.set(coding, weight)
  }
  return weights
}

type Directives = NonNullable<Call['directives']>

const directive = /([\w-]+)(?:\s*=\s*(?:"([^"]*)"|([^\s,;]*)))?/g

/** Ignores unknown directives. The stricter of two values applies. */
export function readCacheDirectives(header: string | undefined): Directives {
  const found: Directives = {}
  if (header === undefined) return found
  for (const [, name, quoted, plain] of header.matchAll(directive)) {
    switch (name?.toLowerCase()) {
      case 'no-cache':
      // A client that forbids storing wants no stored result.
      case 'no-store':
        found.noCache = true
        break
      case 'only-if-cached':
        found.onlyIfCached = true
        break
      case 'max-age': {
        const value = quoted ?? plain ?? ''
        if (!/^\d+$/.test(value)) break
        found.maxAgeSeconds = Math.min(found.maxAgeSeconds ?? Number.POSITIVE_INFINITY, Number(value))
      }
    }
  }
  return found
}
