import { eventsOf } from '../../../src/shared/event-stream.ts'
import { at, send } from '../api/api.ts'
import { connection } from '../api/connection.ts'
import type { EntryFilter } from '../api/entry-search.ts'
import { reconnecting } from '../api/reconnecting.ts'
import type { Entry } from '../api/shapes.ts'

export interface TailEvents {
  /** From now on nothing is missed. */
  onOpen: () => void
  onBroken: () => void
  /** Oldest first. May repeat entries. */
  onEntries: (entries: Entry[]) => void
  /** The service dropped this many entries because they arrived faster than it could send them. */
  onMissed: (count: number) => void
  /** The service could not resume where the connection broke. */
  onReset: () => void
}

/** Replaced in tests. */
export interface TailWorld {
  send: typeof send
  pause: (ms: number, signal: AbortSignal) => Promise<void>
  lost: () => void
}

const browser: TailWorld = { send, pause: connection.pause, lost: connection.lost }

/**
 * Reports entries as they arrive, until the signal aborts. Reconnects after a break and resumes where it was. Throws errors
 * that reconnecting does not solve.
 */
export async function followEntries(
  filter: EntryFilter,
  events: TailEvents,
  signal: AbortSignal,
  world: TailWorld = browser,
): Promise<void> {
  return reconnecting(streamOf(filter, events, signal, world.send), events.onBroken, signal, world)
}

function streamOf(
  { source, project, query }: EntryFilter,
  events: TailEvents,
  signal: AbortSignal,
  send: TailWorld['send'],
) {
  const wanted = new URLSearchParams({
    ...(project !== undefined && { project }),
    ...(query !== '' && { query }),
  })
  let lastId: string | undefined
  return async (alive: () => void) => {
    const response = await send(`/api/sources/${at(source)}/tail?${wanted}`, {
      signal,
      headers: lastId === undefined ? {} : { 'Last-Event-ID': lastId },
    })
    events.onOpen()
    for await (const messages of eventsOf(response.body as ReadableStream<Uint8Array>)) {
      alive()
      const entries: Entry[] = []
      for (const { event, id, data } of messages) {
        lastId = id ?? lastId
        if (event === 'entry') entries.push(JSON.parse(data) as Entry)
        if (event === 'missed') events.onMissed((JSON.parse(data) as { count: number }).count)
        if (event === 'reset') events.onReset()
      }
      if (entries.length > 0) events.onEntries(entries)
    }
  }
}
