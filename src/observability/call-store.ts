import { internal } from '../base/errors.ts'
import type { Arrivals } from '../catalog/arrivals.ts'
import { builtInSources, callsSource } from '../catalog/built-in-sources.ts'
import type { Sources } from '../catalog/sources.ts'
import type { Engine } from '../engine/engine.ts'
import { engineDatabase } from '../sql/names.ts'

export interface CallStoreOptions {
  engine: Engine
  sources: Pick<Sources, 'get'>
  /** Throws where the disk is full. */
  disk: { check(): void }
  arrivals: Arrivals
  /** Hears every entry that is stored. */
  tail: { publish(source: string, lines: readonly Buffer[]): void }
}

const columns = ['project', 'id', 'timestamp', 'event_message', 'metadata']
const limits = { deadlineMs: 10_000 }
const ownColumns = builtInSources.find(({ name }) => name === callsSource)?.hot_fields ?? []

/** Stores entries of calls; they are on disk when it resolves. */
export function storeCalls({ engine, sources, disk, arrivals, tail }: CallStoreOptions) {
  return async (lines: Buffer, token: string, earliestMs: number): Promise<void> => {
    const there = new Set(sources.get(callsSource).hot_fields.map(({ column }) => column))
    if (!ownColumns.every(({ column }) => there.has(column))) {
      throw internal(new Error(`There is another source called ${callsSource}, made before calls were kept.`))
    }
    disk.check()
    try {
      await engine.insert(
        {
          table: `${engineDatabase}.${callsSource}`,
          columns,
          format: 'JSONEachRow',
          settings: { insert_deduplication_token: token },
        },
        lines,
        limits,
      )
    } finally {
      // Whether it went well or not: what is in the engine now was not there before.
      arrivals.note(callsSource, BigInt(Math.floor(earliestMs)) * 1000n)
    }
    tail.publish(callsSource, linesOf(lines))
  }
}

function linesOf(text: Buffer): Buffer[] {
  const lines: Buffer[] = []
  for (let start = 0, end = text.indexOf(10); end >= 0; start = end + 1, end = text.indexOf(10, start)) {
    lines.push(text.subarray(start, end + 1))
  }
  return lines
}
