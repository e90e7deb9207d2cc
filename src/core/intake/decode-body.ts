import { JsonScanner } from '../base/json/json-scanner.ts'
import { EntryReader } from './entry.ts'
import { type EntryBatch, EntryBatchWriter } from './entry-batch.ts'
import { EntryRouter, type KnownSources, type TargetSource } from './entry-router.ts'
import { readLogEntries } from './log-entries.ts'
import { decodeOtlpLogs, entryText, type OtlpEncoding } from './otlp/otlp.ts'

/** How to decode a body; a plain value, so that a worker thread can receive it. */
export type DecodeJob = {
  nowMs: number
  owner: string | undefined
} & (
  | { kind: 'logs'; contentType: string; source: TargetSource }
  /** Each event names its source. */
  | { kind: 'events'; contentType: string; sources: KnownSources }
  | {
      kind: 'otlp'
      encoding: OtlpEncoding
      /** The source of records that name none. */
      defaultSource: string
      sources: KnownSources
    }
)

export function decodeBody(body: Buffer, job: DecodeJob): EntryBatch[] {
  if (job.kind === 'otlp') return decodeOtlp(body, job)
  const { nowMs, owner, contentType } = job
  if (job.kind === 'events')
    return readLogEntries(body, contentType, (namedSource) => new EntryRouter({ ...job, namedSource }))
  const { source } = job
  const batch = () => new EntryBatchWriter(source.name, { nowMs, owner, ...source }, body.length)
  return [readLogEntries(body, contentType, batch)]
}

function decodeOtlp(body: Buffer, job: DecodeJob & { kind: 'otlp' }): EntryBatch[] {
  const router = new EntryRouter(job)
  for (const record of decodeOtlpLogs(body, job.encoding)) {
    const { source, scopeName = '', more, problem, isProjectLast } = record
    const text = entryText(record)
    const reader = new EntryReader(new JsonScanner(text))
    const name = source ?? (job.sources.get(scopeName)?.isOpen ? scopeName : job.defaultSource)
    const about = { problem, isEvent: more !== undefined, isProjectLast }
    if (reader.scan()) router.addTo(name, reader, text, about)
  }
  return router.finish()
}
