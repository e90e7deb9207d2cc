import { ApiError, api, at, send } from '../api/api.ts'
import type { Entry } from '../api/api-types.ts'
import { connection } from '../api/connection.ts'
import { readStream } from '../api/stream-events.ts'
import { KnownEntries } from './known-entries.ts'
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
  /** The connection is gone and is made again. */
  onBroken: () => void
  /** The oldest first. Some may be told of twice. */
  onEntries: (entries: Entry[]) => void
  /** So many came faster than they could be sent. */
  onMissed: (count: number) => void
  /** Too many came to read all of them. */
  onGap: () => void
  /** The service no longer knew the place to go on from. */
  onReset: () => void
}

/** What the tail needs of the world. */
export interface TailWorld {
  send: typeof send
  api: typeof api
  pause: (ms: number, signal: AbortSignal) => Promise<void>
  lost: () => void
  now: () => number
}

const browser: TailWorld = {
  send,
  api,
  pause: connection.pause,
  lost: connection.lost,
  now: Date.now,
}

const pollEveryMs = 2_000
const firstPauseMs = 1_000
const longestPauseMs = 15_000
const pageSize = 500
/** So many pages of one look are read; whoever gets more than that cannot read them either. */
const maxPages = 4
/** Entries that come late are found if they are no later than this. */
const overlapMs = 30_000
/** More than can come in that time and be read. */
const maxKnown = 20_000

/**
 * Tells of entries as they come, until the signal ends it. A connection that breaks is made again and goes on where it
 * was. Throws where it cannot go on.
 */
export async function followEntries(
  filter: TailFilter,
  events: TailEvents,
  signal: AbortSignal,
  world: TailWorld = browser,
): Promise<void> {
  let failures = 0
  const alive = () => {
    failures = 0
  }
  const follow = filter.filters.every(isOfMessage)
    ? streamOf(filter, events, signal, world, alive)
    : pollOf(filter, events, signal, world, alive)
  for (;;) {
    try {
      await follow()
    } catch (error) {
      signal.throwIfAborted()
      if (!isPassing(error)) throw error
      if (!(error instanceof ApiError)) world.lost()
    }
    signal.throwIfAborted()
    events.onBroken()
    await world.pause(Math.min(longestPauseMs, firstPauseMs * 2 ** failures++), signal)
    signal.throwIfAborted()
  }
}

/** Whether the same may work a little later. */
function isPassing(error: unknown): boolean {
  return !(error instanceof ApiError) || error.status === 429 || error.status >= 500
}

/** The stream itself looks for one text only, and knows no conditions. */
function isOfMessage({ path, is }: SearchCondition): boolean {
  return path === 'event_message' && is === 'contains'
}

function streamOf(
  { source, project, text, filters }: TailFilter,
  events: TailEvents,
  signal: AbortSignal,
  world: TailWorld,
  alive: () => void,
) {
  const [longest, ...others] = text.toSorted((one, other) => other.length - one.length)
  const query = new URLSearchParams({
    ...(project !== undefined && { project }),
    ...(longest !== undefined && { text: longest }),
  })
  const has = ({ event_message }: Entry, part: string) =>
    event_message.toLowerCase().includes(part.toLowerCase())
  const isWanted = (entry: Entry) =>
    others.every((word) => has(entry, word)) &&
    filters.every(({ value, not }) => has(entry, value) !== (not ?? false))
  let lastId: string | undefined
  return async () => {
    const response = await world.send(`/api/sources/${at(source)}/tail?${query}`, {
      signal,
      headers: lastId === undefined ? {} : { 'Last-Event-ID': lastId },
    })
    events.onOpen()
    for await (const come of readStream(response.body as ReadableStream<Uint8Array>)) {
      alive()
      const entries: Entry[] = []
      for (const { event, id, data } of come) {
        lastId = id ?? lastId
        if (event === 'entry') entries.push(JSON.parse(data) as Entry)
        if (event === 'missed') events.onMissed((JSON.parse(data) as { count: number }).count)
        if (event === 'reset') events.onReset()
      }
      const wanted = entries.filter(isWanted)
      if (wanted.length > 0) events.onEntries(wanted)
    }
  }
}

/** Entries may be late or share an instant, so the last seconds are asked for again and what is known is left out. */
function pollOf(
  { source, project, text, filters }: TailFilter,
  events: TailEvents,
  signal: AbortSignal,
  world: TailWorld,
  alive: () => void,
) {
  const known = new KnownEntries(maxKnown)
  let since: number | undefined
  const look = async () => {
    const askedMs = world.now()
    const from = new Date((since ?? askedMs) - overlapMs).toISOString()
    const body = { from, text, filters, limit: pageSize, ...(project !== undefined && { project }) }
    const fresh: Entry[] = []
    let last: Entry | undefined
    for (let pages = 1; ; pages++) {
      const before = last && { before: { timestamp: last.timestamp, id: last.id } }
      const path = `/api/sources/${at(source)}/search`
      const page = await world.api<Entry[]>(path, { body: { ...body, ...before }, signal })
      const news = known.fresh(page)
      fresh.push(...news)
      last = page.at(-1)
      // What was there before the first look is not meant.
      if (page.length < pageSize || news.length === 0 || since === undefined) break
      if (pages < maxPages) continue
      events.onGap()
      break
    }
    since = askedMs
    if (fresh.length > 0) events.onEntries(fresh.reverse())
  }
  return async () => {
    for (let isOpen = false; ; isOpen = true) {
      await look()
      alive()
      if (!isOpen) events.onOpen()
      await world.pause(pollEveryMs, signal)
      signal.throwIfAborted()
    }
  }
}
