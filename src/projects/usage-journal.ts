import { closeSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { DayCount } from './day-counts.ts'

/** A total that the engine may lack. */
export type JournaledCount = Pick<
  DayCount,
  'day' | 'project' | 'writer' | 'entries' | 'bytes' | 'requests' | 'hits' | 'engineMs' | 'lastMs'
>

/** Not in backups: the engine has their totals a second later. */
const names = ['usage-0.jsonl', 'usage-1.jsonl'] as const

/**
 * Totals since they were last stored in the engine, for a start after `kill -9`. They are written before a request is
 * acknowledged, but not synced: that would take longer than the request, and a power cut is not what they are for.
 */
export class UsageJournal {
  readonly #dataDir: string
  readonly #files: [number | undefined, number | undefined] = [undefined, undefined]
  #current: 0 | 1 = 0

  constructor(dataDir: string) {
    this.#dataDir = dataDir
  }

  append(counts: readonly DayCount[]): void {
    if (counts.length === 0) return
    const lines = counts.map(({ day, project, writer, entries, bytes, requests, hits, engineMs, lastMs }) => {
      const total: JournaledCount = { day, project, writer, entries, bytes, requests, hits, engineMs, lastMs }
      return `${JSON.stringify(total)}\n`
    })
    const text = Buffer.from(lines.join(''))
    for (let at = 0; at < text.length; ) at += writeSync(this.#file(this.#current), text, at)
  }

  /** Totals from now on are in the other file. Call what it returns when the engine has the earlier ones. */
  turn(): () => void {
    const earlier = this.#current
    this.#current = earlier === 0 ? 1 : 0
    return () => {
      const file = this.#files[earlier]
      if (file !== undefined) ftruncateSync(file)
    }
  }

  /** A crash may have left half a line, of a request that was not acknowledged. */
  read(): JournaledCount[] {
    const lines = names.flatMap((_, at) =>
      readFileSync(this.#file(at as 0 | 1), 'utf8')
        .split('\n')
        .filter(Boolean),
    )
    const newest = new Map<string, JournaledCount>()
    for (const line of lines) {
      try {
        const total = JSON.parse(line) as JournaledCount
        const key = `${total.day} ${total.writer}`
        // A total never decreases.
        if ((newest.get(key)?.entries ?? -1) <= total.entries) newest.set(key, total)
      } catch {}
    }
    return [...newest.values()]
  }

  clear(): void {
    for (const [at] of names.entries()) ftruncateSync(this.#file(at as 0 | 1))
  }

  close(): void {
    for (const [at, file] of this.#files.entries()) {
      if (file !== undefined) closeSync(file)
      this.#files[at] = undefined
    }
  }

  #file(at: 0 | 1): number {
    this.#files[at] ??= openSync(join(this.#dataDir, names[at]), 'a+', 0o600)
    return this.#files[at]
  }
}
