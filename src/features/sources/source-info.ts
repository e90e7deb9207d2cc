import { isWrittenByService } from '../../core/catalog/reserved-sources.ts'
import type { Source } from '../../core/catalog/source.ts'
import type { Sources } from '../../core/catalog/sources.ts'
import { readableSource, type SourceReader } from '../../core/definitions/readable-source.ts'
import type { Engine } from '../../core/engine/engine.ts'
import { queryRows } from '../../core/engine/json-rows.ts'
import { readFilling } from '../../core/engine/stored-tables.ts'
import { pathSettings, type SourcePath, seenPaths } from '../../core/search/seen-paths.ts'
import { type HiddenRows, rowFilterSettings } from '../../core/sql/isolation.ts'

const limits = { deadlineMs: 30_000 }

export type SourceInfo = ReturnType<typeof sourceInfo>

interface SourceInfoParts {
  engine: Engine
  sources: Sources
  /** Rows that nobody may see anymore. */
  hidden: () => HiddenRows | undefined
}

/** What readers and senders need to know about sources. */
export function sourceInfo({ engine, sources, hidden }: SourceInfoParts) {
  const get = (name: string, reader: SourceReader): Source => readableSource(sources, name, reader)
  return {
    get,
    /** Those whose entries the reader may read. */
    list: (reader: SourceReader): Source[] => sources.list().filter((source) => reader.mayReadSource(source)),
    /** Returns a check of whether the reader may still read the entries of a source. */
    watch:
      ({ name }: Source, reader: SourceReader) =>
      (): boolean => {
        const current = sources.named(name)
        return current !== undefined && reader.mayReadSource(current)
      },
    /** Names of the sources that clients send to. The service writes the others itself. */
    sentTo: (): string[] => {
      const names = sources.list().map(({ name }) => name)
      return names.filter((name) => !isWrittenByService(name))
    },
    /** The paths of metadata in the newest entries, with their types and typed columns. */
    async schema(name: string, reader: SourceReader): Promise<SourcePath[]> {
      const source = get(name, reader)
      const filter = rowFilterSettings(engine.database, [source.name], { hidden: hidden() })
      const settings = { ...pathSettings, ...filter }
      const [seen, filled] = await Promise.all([
        seenPaths(source, (sql) => queryRows(engine, { sql, settings }, limits)),
        readFilling(source.name, engine, sources.topology, limits),
      ])
      return seen.map((path) => ({
        ...path,
        filled: path.column === null ? null : (filled.get(path.column) ?? 1),
      }))
    },
  }
}
