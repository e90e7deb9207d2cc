import { sourceNotFound, tooLarge } from '../base/errors.ts'
import { JsonScanner } from '../base/json/json-scanner.ts'
import { quarantineSource } from '../catalog/built-in-sources.ts'
import { EntryReader } from './entry.ts'
import { type EntryBatch, EntryBatchWriter } from './entry-batch.ts'
import { readLogEntries } from './log-entries.ts'
import { otlpLimits } from './otlp/budget.ts'
import { decodeOtlpLogs, type OtlpEncoding } from './otlp/otlp.ts'

export interface TargetSource {
  name: string
  retentionDays: number
  projectPath?: readonly string[] | undefined
}

/** How to decode a body; a plain value, so that a worker thread can receive it. */
export type DecodeJob = {
  nowMs: number
  owner: string | undefined
} & (
  | { kind: 'logs'; contentType: string; source: TargetSource }
  | {
      kind: 'otlp'
      encoding: OtlpEncoding
      /** The source of records that name none. */
      defaultSource: string
      /** By name and by alias. */
      sources: ReadonlyMap<string, TargetSource>
    }
)

export function decodeBody(body: Buffer, job: DecodeJob): EntryBatch[] {
  if (job.kind === 'otlp') return decodeOtlp(body, job)
  const { nowMs, owner, contentType, source } = job
  return [readLogEntries(body, contentType, source.name, { nowMs, owner, ...source })]
}

function decodeOtlp(body: Buffer, job: DecodeJob & { kind: 'otlp' }): EntryBatch[] {
  const { nowMs, owner, sources } = job
  const batches = new Map<string, EntryBatchWriter>()
  const names = new Set<string>()
  for (const { source: name = job.defaultSource, entry } of decodeOtlpLogs(body, job.encoding)) {
    names.add(name)
    if (names.size > otlpLimits.maxSources) {
      throw tooLarge(`A request may name at most ${otlpLimits.maxSources} sources. Send smaller batches.`)
    }
    const source = sources.get(name)
    // A record for an unknown source must not block the others.
    const target = source?.name ?? quarantineSource
    const batch = batches.get(target) ?? new EntryBatchWriter(target, { nowMs, owner, ...source })
    batches.set(target, batch)
    batch.addName(source?.name ?? name)
    const text = Buffer.from(JSON.stringify(entry))
    const reader = new EntryReader(new JsonScanner(text))
    if (source === undefined) batch.reject(sourceNotFound(name).message, text, name)
    else if (reader.scan()) batch.add(reader, text)
  }
  return [...batches.values()].map((batch) => batch.finish())
}
