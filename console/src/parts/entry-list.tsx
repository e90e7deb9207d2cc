import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useRef, useState } from 'react'
import type { Entry } from '../data/api-types.ts'
import { showInstant, useZone } from '../data/instants.ts'
import { JsonTree } from './json-tree.tsx'

export interface EntryListProps {
  entries: readonly Entry[]
  /** Asks for older ones, where there are any. */
  onEnd: (() => void) | undefined
  onFilter: (keys: string[], value: string, exclude: boolean) => void
}

const keyOf = ({ timestamp, id }: Entry) => `${timestamp} ${id}`

/** Entries one below the other, of which only those in sight are drawn. */
export function EntryList({ entries, onEnd, onFilter }: EntryListProps) {
  const zone = useZone()
  const box = useRef<HTMLDivElement>(null)
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set())
  const virtual = useVirtualizer({
    count: entries.length,
    getScrollElement: () => box.current,
    estimateSize: () => 33,
    getItemKey: (index) => keyOf(entries[index] as Entry),
    overscan: 16,
  })
  const items = virtual.getVirtualItems()
  const last = items.at(-1)?.index ?? 0
  useEffect(() => {
    if (last >= entries.length - 30) onEnd?.()
  }, [last, entries.length, onEnd])
  const toggle = (key: string) =>
    setOpen((now) => {
      const next = new Set(now)
      if (!next.delete(key)) next.add(key)
      return next
    })
  return (
    <div className="grid entries" ref={box} role="region" aria-label="Entries" tabIndex={0}>
      <div className="grid-body" style={{ height: virtual.getTotalSize() }}>
        {items.map((item) => {
          const entry = entries[item.index] as Entry
          const key = keyOf(entry)
          const ms = entry.timestamp / 1000
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
                <span
                  className="mono"
                  title={`${showInstant(ms, zone === 'utc' ? 'local' : 'utc')} ${zone === 'utc' ? 'local' : 'UTC'}`}
                >
                  {showInstant(ms, zone)}
                </span>
                <span className="faint">{entry.project}</span>
                <span>{entry.event_message}</span>
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
