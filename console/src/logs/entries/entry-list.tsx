import { useVirtualizer } from '@tanstack/react-virtual'
import { type RefObject, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'
import type { Entry } from '../../api/shapes.ts'
import { showInstant, useZone, type Zone } from '../../ui/instants.ts'
import { toggled } from '../../ui/toggled.ts'
import { keysOf } from '../live/live-buffer.ts'
import { EntryDetail } from './entry-detail.tsx'
import { markOf } from './entry-mark.ts'

interface EntryListProps {
  entries: readonly Entry[]
  source: string
  /** Id of the entry that the address names: it is open and in view. */
  linked: string | undefined
  /** Identifies the search; the entries of a new one are shown from the top. */
  searchKey: string
  /** Whether the entries belong to an earlier search. */
  isOld: boolean
  /** Set where new entries arrive at the top; becomes true when the reader is further down. They do not move what is read. */
  isReading: RefObject<boolean> | undefined
  showDay: boolean
  showProject: boolean
  /** Loads older entries; undefined where there are none. */
  onEnd: (() => void) | undefined
  onFilter: (keys: string[], value: string, exclude: boolean) => void
}

/** More than fits on any screen. */
const maxLine = 600

/** A virtual list of entries. */
export function EntryList(props: EntryListProps) {
  const { entries, source, linked, searchKey, isOld, isReading, showDay, showProject, onEnd, onFilter } =
    props
  const zone = useZone()
  const box = useRef<HTMLDivElement>(null)
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set())
  const keys = useMemo(() => keysOf(entries), [entries])
  const virtual = useVirtualizer({
    count: entries.length,
    getScrollElement: () => box.current,
    estimateSize: () => 33,
    getItemKey: (index) => keys[index] as string,
    overscan: 16,
    // Keeps the visible entries in place, except at the top, where new entries are wanted.
    anchorTo: isReading?.current ? 'end' : 'start',
    scrollEndThreshold: -1,
  })
  const items = virtual.getVirtualItems()
  const last = items.at(-1)?.index ?? 0
  useEffect(() => {
    if (last >= entries.length - 30) onEnd?.()
  }, [last, entries.length, onEnd])
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new search is shown from the top, or at its linked entry
  useLayoutEffect(() => {
    if (isOld) return
    const index = entries.findIndex(({ id }) => id === linked)
    if (index < 0) {
      box.current?.scrollTo(0, 0)
      return
    }
    setOpen(new Set(keys.slice(index, index + 1)))
    // Some newer ones stay in view above it.
    virtual.scrollToIndex(Math.max(0, index - 3), { align: 'start' })
  }, [searchKey, isOld])
  return (
    <div
      className={`grid entries${isOld ? ' old' : ''}${showProject ? '' : ' one-project'}`}
      ref={box}
      role="region"
      aria-label="Entries"
      aria-busy={isOld}
      tabIndex={0}
      onScroll={({ currentTarget }) => {
        if (isReading) isReading.current = currentTarget.scrollTop > 4
      }}
    >
      <div className="grid-body" style={{ height: virtual.getTotalSize() }}>
        {items.map((item) => {
          const entry = entries[item.index] as Entry
          const key = keys[item.index] as string
          return (
            <div
              key={key}
              ref={virtual.measureElement}
              data-index={item.index}
              style={{ transform: `translateY(${item.start}px)` }}
            >
              <button
                type="button"
                className="entry"
                aria-expanded={open.has(key)}
                aria-current={entry.id === linked ? 'true' : undefined}
                onClick={() => setOpen(toggled(open, key))}
              >
                <When ms={entry.timestamp / 1000} zone={zone} showDay={showDay} />
                <Mark entry={entry} />
                {showProject && <span className="faint">{entry.project}</span>}
                <Message entry={entry} />
              </button>
              {open.has(key) && (
                <EntryDetail
                  source={source}
                  entry={entry}
                  isLinked={entry.id === linked}
                  onFilter={onFilter}
                />
              )}
            </div>
          )
        })}
      </div>
    </div>
  )
}

function When({ ms, zone, showDay }: { ms: number; zone: Zone; showDay: boolean }) {
  const local = `${showInstant(ms, 'local')} local`
  const utc = `${showInstant(ms, 'utc')} UTC`
  return (
    <span className="mono" title={zone === 'utc' ? `${utc}, ${local}` : `${local}, ${utc}`}>
      {showDay ? showInstant(ms, zone, 'seconds').slice(5) : showInstant(ms, zone, 'time')}
    </span>
  )
}

function Message({ entry: { event_message, metadata } }: { entry: Entry }) {
  if (event_message !== '') return <span className="message">{event_message.slice(0, maxLine)}</span>
  return <span className="message faint mono">{JSON.stringify(metadata).slice(0, maxLine)}</span>
}

function Mark({ entry }: { entry: Entry }) {
  const mark = markOf(entry)
  return <span className={`mark ${mark?.tone ?? ''}`}>{mark?.text}</span>
}
