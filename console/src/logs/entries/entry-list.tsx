import { useVirtualizer } from '@tanstack/react-virtual'
import {
  type CSSProperties,
  type RefObject,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react'
import type { FoundEntry } from '../../api/entry-search.ts'
import { keysOf } from '../../live/live-buffer.ts'
import { sum } from '../../ui/text/format.ts'
import { showInstant, useZone, type Zone } from '../../ui/text/instants.ts'
import { toggled } from '../../ui/toggled.ts'
import { cellOf, kindOf } from './entry-columns.ts'
import { EntryDetail } from './entry-detail.tsx'
import { EntryHead } from './entry-head.tsx'
import type { Columns, ShownColumn } from './use-columns.ts'
import { useRowKeys } from './use-row-keys.ts'

interface EntryListProps {
  entries: readonly FoundEntry[]
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
  columns: readonly ShownColumn[]
  onColumns: Pick<Columns, 'choose' | 'resize'>
  /** Loads older entries; undefined where there are none. */
  onEnd: (() => void) | undefined
  onFilter: (keys: string[], value: string, exclude: boolean) => void
  onColumn: ((keys: string[]) => void) | undefined
}

const timePx = 112
const leastLastPx = 180
/** More than fits on any screen. */
const maxLine = 600

/** A virtual list of entries. */
export function EntryList(props: EntryListProps) {
  const { entries, linked, searchKey, isOld, isReading, showDay, columns, onColumns, onEnd } = props
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
  useRowKeys({
    box,
    count: entries.length,
    scrollTo: (index) => virtual.scrollToIndex(index, { align: 'auto' }),
    close: (index) => setOpen((now) => new Set([...now].filter((key) => key !== (keys[index] as string)))),
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
      id="entries"
      className={`grid entries${isOld ? ' old' : ''}`}
      style={layoutOf(columns)}
      ref={box}
      role="region"
      aria-label="Entries"
      aria-busy={isOld}
      tabIndex={0}
      onScroll={({ currentTarget }) => {
        if (isReading) isReading.current = currentTarget.scrollTop > 4
      }}
    >
      <EntryHead columns={columns} {...onColumns} />
      <div className="grid-body" style={{ height: virtual.getTotalSize() }}>
        {items.map((item) => {
          const entry = entries[item.index] as FoundEntry
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
                {columns.map(({ path }) => (
                  <EntryCell key={path} entry={entry} path={path} />
                ))}
              </button>
              {open.has(key) && (
                <EntryDetail
                  source={entry.source ?? props.source}
                  entry={entry}
                  isLinked={entry.id === linked}
                  onFilter={props.onFilter}
                  onColumn={props.onColumn}
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

/** Cells have the same width in all rows; the last one takes what is left. */
function layoutOf(columns: readonly ShownColumn[]): CSSProperties {
  const last = columns.length - 1
  // Columns may be narrower before the list is wider than its window.
  const leastPx = columns.map(({ width, least }, index) =>
    index === last ? Math.min(width, leastLastPx) : least,
  )
  const tracks = columns.map(
    ({ width }, index) => `minmax(${leastPx[index]}px, ${index === last ? '1fr' : `${width}px`})`,
  )
  const all = timePx + sum(leastPx.map((px) => px + 12)) + 28
  return { '--columns': [`${timePx}px`, ...tracks].join(' '), '--least': `${all}px` } as CSSProperties
}

function EntryCell({ entry, path }: { entry: FoundEntry; path: string }) {
  const { text, tone } = cellOf(entry, path)
  const kind = kindOf(path)
  // An entry without a message shows what it has.
  if (kind === 'message' && text === '') {
    return <span className="cell message faint mono">{JSON.stringify(entry.metadata).slice(0, maxLine)}</span>
  }
  return <span className={`cell ${kind} ${tone}`}>{text}</span>
}
