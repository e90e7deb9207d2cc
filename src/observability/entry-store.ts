import { internal } from '../base/errors.ts'
import type { Arrivals } from '../catalog/arrivals.ts'
import { builtInSources } from '../catalog/built-in-sources.ts'
import type { Sources } from '../catalog/sources.ts'
import type { Engine } from '../engine/engine.ts'

export interface EntryStoreOptions {
  engine: Engine
  sources: Pick<Sources, 'get'>
  /** Throws if the disk is full. */
  disk: { check(): void }
  arrivals: Arrivals
  /** Gets every stored entry. */
  tail: { publish(source: string, lines: readonly Buffer[]): void }
}

const columns = ['project', 'id', 'timestamp', 'event_message', 'metadata']
const limits = { deadlineMs: 10_000 }

/** Stores entries that the service writes itself; resolves when they are on disk. */
export function storeEntries(source: string, { engine, sources, disk, arrivals, tail }: EntryStoreOptions) {
  const typedColumns = builtInSources.find(({ name }) => name === source)?.columns ?? []
  return async (lines: Buffer, token: string, earliestMs: number): Promise<void> => {
    const columnsOfSource = new Set(sources.get(source).columns.map(({ name }) => name))
    if (!typedColumns.every(({ name }) => columnsOfSource.has(name))) {
      throw internal(
        new Error(`Source ${source} was created by a user and lacks the columns of the service.`),
      )
    }
    disk.check()
    try {
      await engine.insert(
        {
          table: source,
          columns,
          format: 'JSONEachRow',
          settings: { insert_deduplication_token: token },
        },
        lines,
        limits,
      )
    } finally {
      // A failed insert may have stored entries as well.
      arrivals.note(source, BigInt(Math.floor(earliestMs)) * 1000n)
    }
    tail.publish(source, linesOf(lines))
  }
}

function linesOf(text: Buffer): Buffer[] {
  const lines: Buffer[] = []
  for (let start = 0, end = text.indexOf(10); end >= 0; start = end + 1, end = text.indexOf(10, start)) {
    lines.push(text.subarray(start, end + 1))
  }
  return lines
}
