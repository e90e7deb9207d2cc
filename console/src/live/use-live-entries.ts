import { type RefObject, useCallback, useEffect, useRef, useState } from 'react'
import { type EntryFilter, searchEntries } from '../api/entry-search.ts'
import type { Entry } from '../api/shapes.ts'
import { LiveBuffer } from './live-buffer.ts'
import { followEntries } from './live-tail.ts'

/** Older entries than these can be found by a search. */
const maxLive = 2_000
const firstEntries = 200

export interface Live {
  state: 'connecting' | 'open' | 'broken' | 'failed'
  /** Whether the entries match the current filter. */
  hasBegun: boolean
  entries: readonly Entry[]
  /** Entries that arrived while the view was paused, or was full and being read. */
  waiting: number
  missed: number
  /** Whether an unknown number of entries may be missing. */
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

/** The newest entries and those that arrive, newest first. While paused, new entries wait. */
export function useLiveEntries(
  wanted: EntryFilter & { fromMs: number },
  active: boolean,
  paused: boolean,
  /** Whether the reader is further down. What they read then stays, and new entries wait once the view is full. */
  isReading: RefObject<boolean>,
): Live & { restart: () => void } {
  const [live, setLive] = useState<Live>(nothing)
  const [round, setRound] = useState(0)
  const isPaused = useRef(paused)
  isPaused.current = paused
  const fromMs = useRef(wanted.fromMs)
  fromMs.current = wanted.fromMs
  const { source, project, query } = wanted
  const key = JSON.stringify({ source, project, query })

  // biome-ignore lint/correctness/useExhaustiveDependencies: restart begins a new round
  useEffect(() => {
    if (!active) {
      setLive(nothing)
      return
    }
    // The old entries stay until the first new ones are there.
    setLive(({ entries }) => ({ ...nothing, entries }))
    const filter = JSON.parse(key) as EntryFilter
    const buffer = new LiveBuffer(maxLive)
    const ender = new AbortController()
    const report = (changes: Partial<Live>) => setLive((now) => ({ ...now, ...changes }))
    const newest = () => searchEntries(filter, { fromMs: fromMs.current, limit: firstEntries }, ender.signal)
    let beginning: 'waiting' | 'requested' | 'done' = 'waiting'
    let missed = 0
    const begin = async () => {
      if (beginning !== 'waiting') return
      beginning = 'requested'
      buffer.begin(await newest())
      beginning = 'done'
      buffer.show()
      report({ hasBegun: true, entries: buffer.shown, error: undefined })
    }
    /** Fetches what arrived during a break, as far as one page reaches. */
    const fill = async () => {
      const found = await newest()
      if (buffer.add(found.reverse()) === firstEntries) report({ hasGap: true })
    }
    const show = () => {
      if (beginning !== 'done') return
      if (!isPaused.current) buffer.show(isReading.current)
      const [entries, waiting] = [buffer.shown, buffer.waiting]
      const all = missed + buffer.dropped
      setLive((now) =>
        now.entries === entries && now.waiting === waiting && now.missed === all
          ? now
          : { ...now, entries, waiting, missed: all },
      )
    }
    // Limits how often the page is drawn, however fast entries arrive.
    const timer = setInterval(show, 250)
    followEntries(
      filter,
      {
        onOpen: () => {
          report({ state: 'open' })
          // A failed beginning is repeated with the next connection.
          begin().catch((error: Error) => {
            beginning = 'waiting'
            if (!ender.signal.aborted) report({ error })
          })
        },
        onBroken: () => report({ state: 'broken' }),
        onEntries: (entries) => buffer.add(entries),
        onMissed: (count) => {
          missed += count
        },
        onReset: () => {
          fill().catch(() => report({ hasGap: true }))
        },
      },
      ender.signal,
    ).catch((error: Error) => {
      if (!ender.signal.aborted) report({ state: 'failed', error })
    })
    return () => {
      ender.abort()
      clearInterval(timer)
    }
  }, [active, key, round])
  const restart = useCallback(() => setRound((now) => now + 1), [])
  return { ...live, restart }
}
