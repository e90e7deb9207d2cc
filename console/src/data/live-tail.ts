import { ApiError, api, at, send } from './api.ts'
import type { Entry } from './api-types.ts'
import type { SearchCondition } from './search-query.ts'

export interface TailFilter {
  source: string
  project: string | undefined
  text: string[]
  filters: SearchCondition[]
}

export interface TailEvents {
  /** From now on nothing is missed. */
  onOpen: () => void
  onEntries: (entries: Entry[]) => void
  /** So many came faster than they could be sent. */
  onMissed: (count: number) => void
}

const pollEveryMs = 2_000
/** More than can come in the seconds that are asked for twice. */
const maxKnown = 20_000

/** Tells of entries as they come, until the signal ends it. Throws where it cannot go on. */
export async function followEntries(
  filter: TailFilter,
  events: TailEvents,
  signal: AbortSignal,
): Promise<void> {
  const query = new URLSearchParams({
    ...(filter.project !== undefined && { project: filter.project }),
    ...(filter.text.length > 0 && { text: filter.text.join(' ') }),
  })
  // The stream knows no conditions on metadata.
  if (filter.filters.length === 0) {
    try {
      const response = await send(`/api/sources/${at(filter.source)}/tail?${query}`, { signal })
      events.onOpen()
      return await readEvents(response, events)
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 404) throw error
    }
  }
  await poll(filter, events, signal)
}

async function readEvents(response: Response, { onEntries, onMissed }: TailEvents): Promise<void> {
  const reader = (response.body as ReadableStream<BufferSource>)
    .pipeThrough(new TextDecoderStream())
    .getReader()
  let rest = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    const parts = (rest + value).split('\n\n')
    rest = parts.pop() ?? ''
    const entries: Entry[] = []
    for (const part of parts) {
      const event = /^event: ?(.*)$/m.exec(part)?.[1]
      const data = part
        .split('\n')
        .filter((line) => line.startsWith('data:'))
        .map((line) => line.slice(5).trimStart())
        .join('\n')
      if (event === 'entry') entries.push(JSON.parse(data) as Entry)
      if (event === 'missed') onMissed((JSON.parse(data) as { count: number }).count)
    }
    if (entries.length > 0) onEntries(entries)
  }
}

/** Entries may be late or share an instant, so the last seconds are asked for again and what is known is left out. */
async function poll(filter: TailFilter, events: TailEvents, signal: AbortSignal): Promise<void> {
  const { onEntries, onMissed } = events
  const known = new Set<string>()
  const since = Date.now()
  events.onOpen()
  for (;;) {
    const from = new Date(Math.max(since, Date.now() - 30_000)).toISOString()
    const { source, project, text, filters } = filter
    const body = { from, text, filters, limit: 500, ...(project !== undefined && { project }) }
    const found = await api<Entry[]>(`/api/sources/${at(source)}/search`, { body, signal })
    const fresh = found.filter(({ id, timestamp }) => !known.has(`${timestamp} ${id}`))
    for (const { id, timestamp } of fresh) known.add(`${timestamp} ${id}`)
    if (fresh.length > 0) onEntries(fresh.reverse())
    if (fresh.length === 500) onMissed(0)
    for (const key of known) {
      if (known.size <= maxKnown) break
      known.delete(key)
    }
    await new Promise((resolve) => setTimeout(resolve, pollEveryMs))
    signal.throwIfAborted()
  }
}
