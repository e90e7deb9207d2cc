import { api, at, send } from './api.ts'
import type { Entry, Facets, Histogram, SearchSql, ValueCount } from './shapes.ts'

export interface EntryFilter {
  source: string
  project: string | undefined
  /** In the search language of the service. */
  query: string
}

/** An entry that a link names. */
export interface LinkedEntry {
  id: string
  /** In microseconds; finds the entry faster. */
  timestamp: number | undefined
}

interface SearchPage {
  fromMs: number
  toMs?: number
  limit: number
  /** Where the page begins, as the one before says. */
  next?: string | undefined
}

interface TimeSpan {
  fromMs: number
  toMs: number
}

/** The range that is shown around another entry. */
export const aroundMs = 5 * 60_000
const maxAround = 100
/** The most that a search returns. */
const maxPage = 500

function bodyOf({ project, query }: Pick<EntryFilter, 'project' | 'query'>, fromMs: number, toMs?: number) {
  const from = new Date(fromMs).toISOString()
  const to = toMs === undefined ? undefined : new Date(toMs).toISOString()
  return { from, to, project, query: query === '' ? undefined : query }
}

export interface FoundPage {
  entries: FoundEntry[]
  /** Older entries were not searched in time. In milliseconds; undefined where all were. */
  sinceMs?: number
  /** Where the next page begins. */
  next?: string
}

/** One page of entries, newest first. */
export async function searchPage(
  filter: EntryFilter,
  { fromMs, toMs, limit, next }: SearchPage,
  signal: AbortSignal,
): Promise<FoundPage> {
  const body = { ...bodyOf(filter, fromMs, toMs), limit, next }
  const response = await send(`/api/sources/${at(filter.source)}/search`, { body, signal })
  const following = response.headers.get('Wellhead-Next')
  const entries = (await response.json()) as Entry[]
  return { entries, ...sinceOf(response), ...(following !== null && { next: following }) }
}

function sinceOf({ headers }: Response): { sinceMs?: number } {
  const since = headers.get('Wellhead-Searched-Since')
  return since === null ? {} : { sinceMs: Date.parse(since) }
}

export const searchEntries = async (...request: Parameters<typeof searchPage>): Promise<Entry[]> =>
  (await searchPage(...request)).entries

/** The entry with those of its project before and after it, newest first. */
export function entriesAround(
  source: string,
  { id, timestamp }: LinkedEntry,
  signal: AbortSignal,
): Promise<Entry[]> {
  const size = { before: String(maxAround), after: String(maxAround) }
  const wanted = new URLSearchParams({
    ...size,
    ...(timestamp !== undefined && { timestamp: String(timestamp) }),
  })
  return api<Entry[]>(`/api/sources/${at(source)}/entries/${at(id)}/context?${wanted}`, { signal })
}

/** An entry with the source that has it, where a list has entries of several. */
export type FoundEntry = Entry & { source?: string }

/** Entries of all sources that have a trace or request id, newest first. */
export async function entriesOfTrace(
  { project, fromMs, toMs }: Pick<EntryFilter, 'project'> & TimeSpan,
  trace: string,
  signal: AbortSignal,
): Promise<FoundEntry[]> {
  const query = `"${trace.replace(/["\\]/g, '\\$&')}"`
  const body = { ...bodyOf({ project, query }, fromMs, toMs), limit: maxPage }
  const found = await api<FoundEntry[]>('/api/search', { body, signal })
  return found.filter((entry) => mentions(entry, trace))
}

/** A word can be a part of another id. */
function mentions({ event_message, metadata }: Entry, id: string): boolean {
  const has = (value: unknown): boolean =>
    typeof value === 'object' && value !== null ? Object.values(value).some(has) : String(value) === id
  return has(metadata) || event_message.split(/[\s"'=,;()[\]{}]+/).includes(id)
}

/** The most that a file of entries has. */
export const maxExported = 100_000

/** The entries of a search as a file. */
export function exportEntries(
  search: EntryFilter & TimeSpan,
  format: 'ndjson' | 'csv',
  /** Undefined: whole entries. */
  columns: readonly string[] | undefined,
): Promise<Response> {
  const body = { ...bodyOf(search, search.fromMs, search.toMs), format, columns }
  return send(`/api/sources/${at(search.source)}/export`, { body })
}

/** The SQL of a search and of the number of its entries: of the last seconds before `@now`, or between two instants. */
export function searchSql(search: EntryFilter & TimeSpan, lastSeconds: number | undefined) {
  const { fromMs, toMs, source } = search
  const body = {
    ...bodyOf(search, fromMs, lastSeconds === undefined ? toMs : undefined),
    last_seconds: lastSeconds,
  }
  return api<SearchSql>(`/api/sources/${at(source)}/search-sql`, { body })
}

/** Counts, and since when they have all entries if there was not enough time. */
async function counted<Counts>(path: string, body: unknown, signal: AbortSignal) {
  const response = await send(path, { body, signal })
  return { ...((await response.json()) as Counts), ...sinceOf(response) }
}

export function countEntries(
  filter: EntryFilter,
  { fromMs, toMs, by }: { fromMs: number; toMs: number; by: string | undefined },
  signal: AbortSignal,
): Promise<Histogram & { sinceMs?: number }> {
  const body = { ...bodyOf(filter, fromMs, toMs), buckets: 120, by }
  return counted<Histogram>(`/api/sources/${at(filter.source)}/histogram`, body, signal)
}

/** The most frequent values of a field that contain a text. */
export function findValues(
  filter: EntryFilter & { fromMs: number; toMs?: number },
  wanted: { path: string; search: string },
  signal: AbortSignal,
): Promise<ValueCount[]> {
  const body = { ...bodyOf(filter, filter.fromMs, filter.toMs), ...wanted, limit: 50 }
  return api<ValueCount[]>(`/api/sources/${at(filter.source)}/values`, { body, signal })
}

export function countFacets(
  filter: EntryFilter,
  { fromMs, toMs }: { fromMs: number; toMs: number | undefined },
  signal: AbortSignal,
): Promise<Facets & { sinceMs?: number }> {
  const body = bodyOf(filter, fromMs, toMs)
  return counted<Facets>(`/api/sources/${at(filter.source)}/facets`, body, signal)
}
