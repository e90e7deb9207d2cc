import { sourceNotFound, tooLarge } from '../base/errors.ts'
import { quarantineSource } from '../catalog/built-in-sources.ts'
import { EntryReader } from './entry.ts'
import { JsonScanner } from './json-scanner.ts'
import { readLogEntries } from './log-entries.ts'
import { decodeOtlpLogs, type OtlpEncoding } from './otlp/otlp.ts'
import { otlpLimits } from './otlp/value.ts'
import { type ReadEntries, SourceReading } from './source-reading.ts'

export interface KnownSource {
  name: string
  retentionDays: number
}

/** What has to be known to read a body, in a form that another thread can be given. */
export type ReadingJob = {
  nowMs: number
  owner: string | undefined
} & (
  | { kind: 'logs'; contentType: string; source: KnownSource }
  | {
      kind: 'otlp'
      encoding: OtlpEncoding
      /** The source of records that name none. */
      source: string
      /** By every name that each of them has. */
      sources: ReadonlyMap<string, KnownSource>
    }
)

/** Reads everything that a request sent. */
export function readBody(pieces: readonly Uint8Array[], job: ReadingJob): ReadEntries[] {
  const [first, ...more] = pieces
  const body =
    first === undefined || more.length > 0
      ? Buffer.concat(pieces)
      : Buffer.from(first.buffer, first.byteOffset, first.length)
  if (job.kind === 'otlp') return readOtlp(body, job)
  const { nowMs, owner, contentType, source } = job
  return [
    readLogEntries(body, contentType, source.name, { nowMs, owner, retentionDays: source.retentionDays }),
  ]
}

function readOtlp(body: Buffer, job: ReadingJob & { kind: 'otlp' }): ReadEntries[] {
  const { nowMs, owner, sources } = job
  const readings = new Map<string, SourceReading>()
  const names = new Set<string>()
  for (const { source: name = job.source, entry } of decodeOtlpLogs(body, job.encoding)) {
    names.add(name)
    if (names.size > otlpLimits.maxSources)
      throw tooLarge(`A request may name up to ${otlpLimits.maxSources} sources: send smaller batches.`)
    const source = sources.get(name)
    // Records for a source that is not there must not keep their neighbours out.
    const place = source?.name ?? quarantineSource
    const reading =
      readings.get(place) ?? new SourceReading(place, { nowMs, owner, retentionDays: source?.retentionDays })
    readings.set(place, reading)
    reading.named(name)
    const text = Buffer.from(JSON.stringify(entry))
    const reader = new EntryReader(new JsonScanner(text))
    if (source === undefined) reading.reject(sourceNotFound(name).message, text, 0, text.length, name)
    else if (reader.scan()) reading.add(reader, text, 0, text.length)
  }
  return [...readings.values()].map((reading) => reading.done())
}
