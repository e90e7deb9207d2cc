import { sourceNotFound, tooLarge } from '../base/errors.ts'
import { quarantineSource } from '../catalog/reserved-sources.ts'
import type { EntryReader } from './entry.ts'
import { type EntryBatch, EntryBatchWriter, type EntrySink } from './entry-batch.ts'
import type { EntryNature } from './entry-terms.ts'
import { sourceFields } from './log-entries.ts'
import { otlpLimits } from './otlp/budget.ts'
import { withheld } from './ruled-line.ts'

export interface TargetSource {
  name: string
  retentionDays: number
  projectPath?: readonly string[] | undefined
  /** As text. */
  rules?: string | undefined
}

/** By name and by alias, each with whether the sender may send to it, and whether its own rules take something out. */
export type KnownSources = ReadonlyMap<string, TargetSource & { isOpen: boolean; hides: boolean }>

interface RouterOptions {
  nowMs: number
  owner: string | undefined
  sources: KnownSources
  /** Source of every event, named beside them. */
  namedSource?: string | undefined
}

/** Sorts the entries of one request by their sources. */
export class EntryRouter implements EntrySink<EntryBatch[]> {
  readonly #options: RouterOptions
  readonly #batches = new Map<string, EntryBatchWriter>()
  readonly #names = new Set<string>()
  readonly #withholds: boolean
  #index = 0

  constructor(options: RouterOptions) {
    this.#options = options
    this.#withholds = [...options.sources.values()].some(({ hides }) => hides)
  }

  /** Adds the scanned event to the source that it names. */
  add(reader: EntryReader, text: Buffer): void {
    const { namedSource } = this.#options
    const name = namedSource ?? sourceFields.flatMap((field) => reader.textOf(field) ?? [])[0]
    if (name === undefined)
      this.#refuse('the entry has no field "source" that names its source', reader, text)
    else if (this.#options.sources.get(name)?.isOpen)
      this.addTo(name, reader, text, { isEvent: namedSource === undefined })
    else {
      this.#batch(quarantineSource).addName(name)
      // Does not tell whether the source exists.
      this.#refuse(`there is no source "${name}" that this token may send to`, reader, text)
    }
  }

  /** Rules of the source that an entry names cannot be applied without telling that it exists. */
  #refuse(problem: string, reader: EntryReader, text: Buffer): void {
    const batch = this.#batch(quarantineSource)
    const index = this.#index++
    if (this.#withholds) batch.reject(problem, Buffer.from(withheld), { index })
    else batch.add(reader, text, { problem, index })
  }

  /** Adds the scanned entry to the source of this name. */
  addTo(name: string, reader: EntryReader, text: Buffer, nature: EntryNature): void {
    this.#names.add(name)
    if (this.#names.size > otlpLimits.maxSources) {
      throw tooLarge(`A request may name at most ${otlpLimits.maxSources} sources. Send smaller batches.`)
    }
    const source = this.#options.sources.get(name)
    // An entry for an unknown source must not block the others.
    const batch = this.#batch(source?.name ?? quarantineSource)
    batch.addName(source?.name ?? name)
    const index = this.#index++
    if (source) batch.add(reader, text, { index, ...nature })
    else batch.add(reader, text, { ...nature, index, problem: sourceNotFound(name).message, source: name })
  }

  reject(reason: string, text: Buffer): void {
    this.#batch(quarantineSource).reject(reason, text, { index: this.#index++ })
  }

  finish(): EntryBatch[] {
    return [...this.#batches.values()].map((batch) => batch.finish())
  }

  #batch(name: string): EntryBatchWriter {
    const { nowMs, owner, sources } = this.#options
    const batch =
      this.#batches.get(name) ?? new EntryBatchWriter(name, { nowMs, owner, ...sources.get(name) })
    this.#batches.set(name, batch)
    return batch
  }
}
