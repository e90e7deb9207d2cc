import { useQuery } from '@tanstack/react-query'
import { useEffect, useMemo, useState } from 'react'
import { aroundMs, type LinkedEntry } from '../api/entry-search.ts'
import { hasFeature } from '../api/features.ts'
import { queries } from '../api/queries.ts'
import type { LogSource, Whoami } from '../api/shapes.ts'
import { useAddress } from '../ui/use-address.ts'
import { defaultSplit } from './source-fields.ts'
import { readRange, type TimeRange } from './time-range.ts'
import type { EntrySearch } from './use-entries.ts'
import { rememberSource } from './use-first-source.ts'

/** What the page shows. The address holds all of it, so that a link shows the same. */
export function useLogsView(who: Whoami, name: string, sources: readonly LogSource[]) {
  const [address, setAddress] = useAddress()
  const [requestedMs, setRequestedMs] = useState(() => Date.now())
  const source = sources.find((one) => one.name === name) ?? { name, description: '', columns: [] }
  useEffect(() => rememberSource(name), [name])
  const live = hasFeature('live') && address.get('live') === '1'
  const search: EntrySearch = useMemo(() => {
    const around = linkedEntry(address)
    const { fromMs, toMs } = rangeAt(address, requestedMs)
    // A tenant's token is limited to its project.
    const project = who.project === null ? (address.get('project') ?? undefined) : undefined
    const query = around ? '' : (address.get('q') ?? '')
    const trace = address.get('trace') ?? undefined
    return { source: name, project, query, fromMs, toMs, around, trace, requestedMs }
  }, [address, name, requestedMs, who.project])
  /** Every search reaches up to the time of its request. */
  const ask = (changes: Record<string, string | undefined>) => {
    const { around, fromMs, toMs } = search
    const [from, to] = [fromMs, toMs].map((ms) => new Date(ms).toISOString())
    setRequestedMs(Date.now())
    // Searching on from a linked entry stays at its time.
    setAddress({ ...(around && { entry: undefined, at: undefined, from, to }), ...changes })
  }
  const { data: listed, isPending } = useQuery(queries.listColumns(name))
  const by =
    address.get('by') ??
    defaultSplit(
      source.columns,
      listed?.columns.map(({ path }) => path),
    )
  return {
    source,
    search,
    live: live && !search.around && !search.trace,
    by: by === 'none' ? undefined : by,
    /** Whether the default split is not known yet. */
    isUnsplit: isPending && by === undefined,
    rangeAt: (nowMs: number) => rangeAt(address, nowMs),
    ask,
  }
}

/** The minutes around a linked entry, or the chosen range. */
function rangeAt(address: URLSearchParams, nowMs: number): TimeRange {
  const { timestamp } = linkedEntry(address) ?? {}
  if (timestamp === undefined) return readRange(address, nowMs)
  const atMs = Math.floor(timestamp / 1000)
  return { fromMs: atMs - aroundMs, toMs: atMs + aroundMs, relative: undefined }
}

function linkedEntry(address: URLSearchParams): LinkedEntry | undefined {
  const id = address.get('entry')
  const timestamp = address.get('at') ?? ''
  // Larger numbers are no dates.
  const isTime = /^\d{1,16}$/.test(timestamp) && Number(timestamp) < 8_640_000_000_000_000
  return id ? { id, timestamp: isTime ? Number(timestamp) : undefined } : undefined
}
