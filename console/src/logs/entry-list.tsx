import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useLayoutEffect, useRef, useState } from 'react'
import type { Entry } from '../api/api-types.ts'
import { showInstant, useZone, type Zone } from '../ui/instants.ts'
import { JsonTree } from '../ui/json-tree.tsx'
import { markOf } from './entry-mark.ts'
import { keyOf } from './known-entries.ts'

export interface EntryListProps {
  entries: readonly Entry[]
  /** Names the question that the entries answer; a new one is read from its top. */
  question: string
  /** Whether the entries are those of an earlier question. */
  isOld: boolean
  /** Whether new ones come in above: who reads further down is not moved. */
  grows: boolean
  /** Whether the day is needed to tell instants apart. */
  showDay: boolean
  showProject: boolean
  /** Asks for older ones, where there are any. */
  onEnd: (() => void) | undefined
  onFilter: (keys: string[], value: string, exclude: boolean) => void
}

/** A line shows no more of a message than fits on any screen. */
const maxLine = 600

/** Entries one below the other, of which only those in sight are drawn. */
export function EntryList(props: EntryListProps) {
  const { entries, question, isOld, grows, showDay, showProject, onEnd, onFilter } = props
  const zone = useZone()
  const box = useRef<HTMLDivElement>(null)
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set())
  const virtual = useVirtualizer({
    count: entries.length,
    getScrollElement: () => box.current,
    estimateSize: () => 33,
    getItemKey: (index) => keyOf(entries[index] as Entry),
    overscan: 16,
    // Keeps what is read in its place. At the top nothing is kept: there one sees what comes.
    anchorTo: grows && (box.current?.scrollTop ?? 0) > 4 ? 'end' : 'start',
    scrollEndThreshold: -1,
  })
  const items = virtual.getVirtualItems()
  const last = items.at(-1)?.index ?? 0
  useEffect(() => {
    if (last >= entries.length - 30) onEnd?.()
  }, [last, entries.length, onEnd])
  // biome-ignore lint/correctness/useExhaustiveDependencies: the answer to a new question begins at its top
  useLayoutEffect(() => {
    if (!isOld) box.current?.scrollTo(0, 0)
  }, [question, isOld])
  const toggle = (key: string) =>
    setOpen((now) => {
      const next = new Set(now)
      if (!next.delete(key)) next.add(key)
      return next
    })
  return (
    <div
      className={`grid entries${isOld ? ' old' : ''}${showProject ? '' : ' one-project'}`}
      ref={box}
      role="region"
      aria-label="Entries"
      aria-busy={isOld}
      tabIndex={0}
    >
      <div className="grid-body" style={{ height: virtual.getTotalSize() }}>
        {items.map((item) => {
          const entry = entries[item.index] as Entry
          const key = keyOf(entry)
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
                onClick={() => toggle(key)}
              >
                <When ms={entry.timestamp / 1000} zone={zone} showDay={showDay} />
                <Mark entry={entry} />
                {showProject && <span className="faint">{entry.project}</span>}
                <Message entry={entry} />
              </button>
              {open.has(key) && (
                <JsonTree
                  value={{
                    project: entry.project,
                    id: entry.id,
                    event_message: entry.event_message,
                    metadata: entry.metadata,
                  }}
                  onFilter={(keys, value, exclude) =>
                    onFilter(keys[0] === 'metadata' ? keys.slice(1) : keys, value, exclude)
                  }
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
