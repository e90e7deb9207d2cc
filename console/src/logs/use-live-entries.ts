import { useCallback, useEffect, useRef, useState } from 'react'
import { api, at } from '../api/api.ts'
import type { Entry } from '../api/api-types.ts'
import { LiveBuffer } from './live-buffer.ts'
import { followEntries, type TailFilter } from './live-tail.ts'

/** Newest entries that a live view holds; older ones are a search away. */
const maxLive = 2_000
const firstEntries = 200

export interface Live {
  state: 'connecting' | 'open' | 'broken' | 'failed'
  /** Whether the entries are those that were asked for. */
  hasBegun: boolean
  entries: readonly Entry[]
  /** How many came while it was paused. */
  waiting: number
  missed: number
  /** Entries may be missing, and nobody knows how many. */
  hasGap: boolean
  error: Error | undefined
}

const nothing: Live = {
  state: 'connecting',
  hasBegun: false,
  entries: [],
  waiting: 0,
  missed: 0,
  hasGap: false,
  error: undefined,
}

function newest(filter: TailFilter, fromMs: number, signal: AbortSignal): Promise<Entry[]> {
  const { source, project, text, filters } = filter
  const from = new Date(fromMs).toISOString()
  const body = { from, text, filters, limit: firstEntries, ...(project !== undefined && { project }) }
  return api<Entry[]>(`/api/sources/${at(source)}/search`, { body, signal })
}

/** The newest entries and those that come, newest first. While it is paused they gather, and are shown afterwards. */
export function useLiveEntries(
  wanted: TailFilter & { fromMs: number },
  active: boolean,
  paused: boolean,
): Live & { restart: () => void } {
  const [live, setLive] = useState<Live>(nothing)
  const [round, setRound] = useState(0)
  const isPaused = useRef(paused)
  isPaused.current = paused
  const fromMs = useRef(wanted.fromMs)
  fromMs.current = wanted.fromMs
  const { source, project, text, filters } = wanted
  const key = JSON.stringify({ source, project, text, filters })

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new round begins anew
  useEffect(() => {
    if (!active) {
      setLive(nothing)
      return
    }
    // What is shown stays until the first entries are there.
    setLive(({ entries }) => ({ ...nothing, entries }))
    const filter = JSON.parse(key) as TailFilter
    const buffer = new LiveBuffer(maxLive)
    const ender = new AbortController()
    const tell = (changes: Partial<Live>) => setLive((now) => ({ ...now, ...changes }))
    let beginning: 'waits' | 'asked' | 'done' = 'waits'
    let missed = 0
    const begin = async () => {
      if (beginning !== 'waits') return
      beginning = 'asked'
      buffer.begin(await newest(filter, fromMs.current, ender.signal))
      beginning = 'done'
      buffer.show()
      tell({ hasBegun: true, entries: buffer.shown, error: undefined })
    }
    /** What came while nobody listened is found, unless it is more than was asked for. */
    const fill = async () => {
      const found = await newest(filter, fromMs.current, ender.signal)
      if (buffer.add(found.reverse()) === firstEntries) tell({ hasGap: true })
    }
    const show = () => {
      if (beginning !== 'done') return
      if (!isPaused.current) buffer.show()
      const [entries, waiting] = [buffer.shown, buffer.waiting]
      const all = missed + buffer.dropped
      setLive((now) =>
        now.entries === entries && now.waiting === waiting && now.missed === all
          ? now
          : { ...now, entries, waiting, missed: all },
      )
    }
    // However fast entries come, the page is drawn a few times a second.
    const timer = setInterval(show, 250)
    followEntries(
      filter,
      {
        onOpen: () => {
          tell({ state: 'open' })
          // Where it does not succeed it is tried again with the next connection.
          begin().catch((error: Error) => {
            beginning = 'waits'
            if (!ender.signal.aborted) tell({ error })
          })
        },
        onBroken: () => tell({ state: 'broken' }),
        onEntries: (entries) => buffer.add(entries),
        onMissed: (count) => {
          missed += count
        },
        onGap: () => tell({ hasGap: true }),
        onReset: () => {
          fill().catch(() => tell({ hasGap: true }))
        },
      },
      ender.signal,
    ).catch((error: Error) => {
      if (!ender.signal.aborted) tell({ state: 'failed', error })
    })
    return () => {
      ender.abort()
      clearInterval(timer)
    }
  }, [active, key, round])
  const restart = useCallback(() => setRound((now) => now + 1), [])
  return { ...live, restart }
}
