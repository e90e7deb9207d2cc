import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from '../base/clock.ts'
import { internal, tooLarge } from '../base/errors.ts'
import { otelSource, quarantineSource } from '../catalog/built-in-sources.ts'
import type { Sources } from '../catalog/sources.ts'
import { database } from '../catalog/tables.ts'
import type { Engine } from '../engine/engine.ts'
import { isUnreadableRow } from '../engine/engine-errors.ts'
import { Committer } from './committer.ts'
import type { DiskGuard } from './disk-guard.ts'
import { entryLimits, readEntry, stringifyJson } from './entry.ts'
import type { IdempotencyKeys } from './idempotency.ts'
import type { SentEntry } from './log-entries.ts'

/** Where OpenTelemetry records go that name no source. */
export const defaultOtlpSource = otelSource

export interface IntakeAnswer {
  accepted: number
  rejected: number
  errors: { index: number; reason: string }[]
}

export interface LogIntakeOptions {
  engine: Engine
  sources: Sources
  keys: IdempotencyKeys
  disk: DiskGuard
  clock: Clock
  maxPendingBytes: number
}

/** What makes the engine's JSON give back exactly what was sent. */
export const faithfulJson = {
  json_type_escape_dots_in_keys: 1,
  input_format_try_infer_dates: 0,
  input_format_try_infer_datetimes: 0,
  input_format_json_try_infer_numbers_from_strings: 0,
  input_format_json_read_bools_as_numbers: 0,
} as const

const columns = ['project', 'id', 'timestamp', 'event_message', 'metadata'] as const

const limits = { deadlineMs: 60_000 }

/** A small body can hold millions of empty entries, each of which costs as much as a real one. */
const maxEntries = 50_000
const entriesPerTurn = 500

/** Takes entries and answers when each of them is on disk, in its source or in quarantine. */
export class LogIntake {
  readonly #options: LogIntakeOptions
  readonly #committer: Committer

  constructor(options: LogIntakeOptions) {
    this.#options = options
    this.#committer = new Committer({
      insert: (source, lines, token) => this.#insert(source, lines, token),
      isUnreadable: isUnreadableRow,
      maxPendingBytes: options.maxPendingBytes,
      maxInsertBytes: 32 * 2 ** 20,
      attempts: 30,
    })
  }

  /** The name of the source that this is the name or an alias of. */
  sourceNamed(name: string): string {
    return this.#options.sources.get(name).name
  }

  async take(sourceName: string, entries: SentEntry[], idempotencyKey?: string): Promise<IntakeAnswer> {
    const source = this.#options.sources.get(sourceName)
    if (entries.length > maxEntries) throw tooLarge(`More than ${maxEntries} entries came at once.`)
    this.#options.disk.check()
    if (idempotencyKey === undefined) return this.#store(source.name, entries)
    return this.#options.keys.once(source.id, idempotencyKey, (token) =>
      this.#store(source.name, entries, token),
    )
  }

  async #store(source: string, entries: SentEntry[], token?: string): Promise<IntakeAnswer> {
    const nowMs = this.#options.clock.now()
    const lines: Buffer[] = []
    const indexOfLine: number[] = []
    const errors: IntakeAnswer['errors'] = []
    for (const [index, entry] of entries.entries()) {
      // Others want their turn, too.
      if (index % entriesPerTurn === entriesPerTurn - 1) await nextTurn()
      const reading =
        'unreadable' in entry ? { reason: 'the line is not valid JSON' } : readEntry(entry.value, nowMs)
      if ('reason' in reading) errors.push({ index, reason: reading.reason })
      else {
        lines.push(reading.line)
        indexOfLine.push(index)
      }
    }
    const quarantine = (rejected: IntakeAnswer['errors'], part: string) => ({
      source: quarantineSource,
      lines: rejected.map(({ index, reason }) =>
        quarantineLine(source, index, reason, entries[index] as SentEntry, nowMs),
      ),
      token: token && `${token}/${part}`,
    })
    const stored = await this.#committer.submit({ source, lines, token }, quarantine(errors, 'rejected'))
    const [refused, notKept] = stored as [Map<number, string>, Map<number, string>]
    const late = [...refused].map(([line, reason]) => ({ index: indexOfLine[line] as number, reason }))
    const [lateNotKept] = await this.#committer.submit({ ...quarantine(late, 'refused'), begun: true })
    if (notKept.size > 0 || (lateNotKept?.size ?? 0) > 0) throw internal('a rejected entry could not be kept')
    for (const error of late) errors.push(error)
    errors.sort((one, other) => one.index - other.index)
    return { accepted: entries.length - errors.length, rejected: errors.length, errors }
  }

  async #insert(source: string, lines: Buffer, token: string): Promise<void> {
    await this.#options.engine.insert(
      {
        table: `${database}.${source}`,
        columns,
        format: 'JSONEachRow',
        settings: {
          ...faithfulJson,
          insert_deduplication_token: token,
          // Entries may be of any day, and each day is a partition.
          max_partitions_per_insert_block: 0,
        },
      },
      lines,
      limits,
    )
  }

  /** Resolves when everything taken is stored. */
  settled(): Promise<void> {
    return this.#committer.settled()
  }
}

/** The text of a rejected entry, as far as it fits. */
function quarantineLine(
  source: string,
  index: number,
  reason: string,
  entry: SentEntry,
  nowMs: number,
): Buffer {
  const text = textOf(entry).toWellFormed()
  const most = entryLimits.maxBytes / 4
  const reading = readEntry(
    {
      event_message: text.slice(0, most).toWellFormed(),
      metadata: { source, index, reason, ...(text.length > most && { cut: true }) },
    },
    nowMs,
  )
  if ('reason' in reading) throw new Error(`A rejected entry cannot be kept: ${reading.reason}.`)
  return reading.line
}

function textOf(entry: SentEntry): string {
  if ('unreadable' in entry) return entry.unreadable
  try {
    return stringifyJson(entry.value)
  } catch {
    // Nested so deeply that it cannot even be written down again.
    return ''
  }
}
