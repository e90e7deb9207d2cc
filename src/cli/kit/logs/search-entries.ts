import { beginningOfTime } from '../../../shared/timestamps.ts'
import type { CommandOutput } from '../command-io.ts'
import { visible } from '../output/format.ts'
import { apiPath, type ServiceClient } from '../service-client.ts'

export interface LoggedEntry {
  id: string
  timestamp: number
  project: string
  event_message: string
  metadata: unknown
}

export const queryArgument =
  'words of the message, and conditions such as status:>=500, path:/rest/* or NOT level:info'

/** One line for people: time, project, and the message, or the metadata of an entry without a message. */
export function entryText(
  { timestamp, project, event_message, metadata }: LoggedEntry,
  { colors }: CommandOutput,
): string {
  const text = event_message === '' ? colors.dim(visible(JSON.stringify(metadata))) : visible(event_message)
  const projects = project === '' ? [] : [colors.cyan(visible(project))]
  return [colors.dim(new Date(timestamp / 1000).toISOString()), ...projects, text].join('  ')
}

export interface EntrySearch {
  project?: string | undefined
  from?: string | undefined
  to?: string | undefined
  query: string
}

interface FoundEntry {
  entry: LoggedEntry
  /** As the service sent it: parsing would round large integers. */
  json: string
}

/** Entries of one request, fewer than the service returns at most. */
const pageSize = 500

/** Newest first, at most this many. */
export async function* searchEntries(
  client: Pick<ServiceClient, 'request' | 'read' | 'parse'>,
  source: string,
  search: EntrySearch,
  maxEntries: number,
): AsyncGenerator<FoundEntry> {
  let left = maxEntries
  let next: string | undefined
  while (left > 0) {
    const limit = Math.min(left, pageSize)
    const response = await client.request('POST', apiPath('sources', source, 'search'), {
      json: { ...search, limit, next },
    })
    const body = await client.read(response)
    const entries = client.parse<LoggedEntry[]>(body)
    const lines = body
      .toString()
      .split('\n')
      .filter((line) => line.startsWith('{'))
    for (const [index, entry] of entries.entries()) {
      const line = lines.length === entries.length ? lines[index]?.replace(/,$/, '') : undefined
      yield { entry, json: line ?? JSON.stringify(entry) }
    }
    next = response.headers.get('Wellhead-Next') ?? undefined
    if (next === undefined) return
    left -= entries.length
  }
}

/** The newest entries of any time, oldest first. */
export async function newestEntries(
  client: Parameters<typeof searchEntries>[0],
  source: string,
  search: Omit<EntrySearch, 'from' | 'to'>,
  count: number,
): Promise<FoundEntry[]> {
  const found: FoundEntry[] = []
  const ever = { ...search, from: beginningOfTime }
  for await (const one of searchEntries(client, source, ever, count)) found.push(one)
  return found.reverse()
}
