import { invalidParameter, notAcceptable } from '../base/errors.ts'
import { type OutputFormat, outputFormats, withIsoTimestamps } from '../endpoints/call/output-formats.ts'
import { readWeights } from './cache-headers.ts'
import { eventStreamType } from './streams/event-streams.ts'

export interface ChosenFormat {
  format: OutputFormat
  /** Whether the result is followed as a stream of events. */
  streamed: boolean
}

const [json] = outputFormats as [OutputFormat]

/** Reads `_format` and `_timestamps`. `_format` takes precedence over Accept. */
export function chooseFormat(
  control: ReadonlyMap<string, string>,
  accept: string | undefined,
  mayStream: boolean,
): ChosenFormat {
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
