import type { EntryReader } from '../../core/access/entry-reader.ts'
import { WellheadError } from '../../core/base/errors.ts'
import { quarantineSource } from '../../core/catalog/reserved-sources.ts'
import type { Source } from '../../core/catalog/source.ts'
import { type EntryQueries, tableOf } from './entry-queries.ts'

const deadlineMs = 5_000
const perStatement = 50
/** Days back from now at which the ranges begin that are read for a project; the last one has no start. */
const rangeDays = [1, 16]
const dayMs = 86_400_000

export interface FilledSources {
  /** Sources with entries that the reader sees, that of the newest entry first. */
  filled: Source[]
  empty: Source[]
}

/**
 * The sources among these that have entries for the reader. Reads a few rows of each, newest days first. The quarantine is left out
 * unless it is published: it is for those who look after senders.
 */
export async function filledSources(
  queries: EntryQueries,
  sources: readonly Source[],
  reader: EntryReader,
): Promise<FilledSources> {
  const listed = sources.filter(({ name, published }) => name !== quarantineSource || published)
  const newest = new Map<string, number>()
  try {
    for (const range of reader.project === undefined ? [anyTime] : rangesAt(queries.now())) {
      const unread = listed.filter(({ name }) => !newest.has(name))
      for (let at = 0; at < unread.length; at += perStatement) {
        const group = unread.slice(at, at + perStatement)
        for (const row of await readNewest(queries, group, reader, range)) newest.set(row.name, row.newest)
      }
    }
  } catch (error) {
    if (!(error instanceof WellheadError)) throw error
    // Which ones are empty is unknown while the engine does not respond in time.
    return { filled: listed, empty: [] }
  }
  const newestOf = ({ name }: Source) => newest.get(name) ?? 0
  return {
    filled: listed
      .filter(({ name }) => newest.has(name))
      .sort((one, other) => newestOf(other) - newestOf(one)),
    empty: listed.filter(({ name }) => !newest.has(name)),
  }
}

interface Range {
  conditions: readonly string[]
  parameters: Record<string, string | number>
}

const anyTime: Range = { conditions: [], parameters: {} }

function rangesAt(nowMs: number): Range[] {
  const bounds = rangeDays.map((days) => (nowMs - days * dayMs) * 1000)
  return [...bounds, undefined].map((from, index) => {
    const to = bounds[index - 1]
    const ends = { ...(from !== undefined && { from }), ...(to !== undefined && { to }) }
    const conditions = Object.keys(ends).map(
      (end) => `timestamp ${end === 'from' ? '>=' : '<'} fromUnixTimestamp64Micro({${end}:Int64}, 'UTC')`,
    )
    return { conditions, parameters: ends }
  })
}

function readNewest(
  queries: EntryQueries,
  sources: readonly Source[],
  reader: EntryReader,
  { conditions, parameters }: Range,
): Promise<{ name: string; newest: number }[]> {
  const { project } = reader
  const parts = sources.map((source) => {
    const select = (newest: string, rest: string) =>
      `(SELECT '${source.name}' AS name, toUnixTimestamp64Micro(${newest}) AS newest FROM ${tableOf(source)} ${rest})`
    // Parts know their newest timestamp, but not that of a project; in the primary key, the project goes before the time.
    if (project === undefined) return select('max(timestamp)', 'HAVING count() > 0')
    const where = ['project = {project:String}', ...conditions].join(' AND ')
    return select('timestamp', `WHERE ${where} ORDER BY timestamp DESC LIMIT 1`)
  })
  const statement = {
    sql: parts.join(' UNION ALL '),
    parameters: { ...parameters, ...(project !== undefined && { project }) },
  }
  return queries.rowsOf(sources, reader, statement, deadlineMs)
}
