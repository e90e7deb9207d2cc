import { useVirtualizer } from '@tanstack/react-virtual'
import { type ClipboardEvent, type RefObject, useLayoutEffect, useMemo, useRef, useState } from 'react'
import type { Column, Row } from '../../api/shapes.ts'
import { JsonTree } from '../../ui/json-tree.tsx'
import { Breakable } from '../../ui/table.tsx'
import { sum } from '../../ui/text/format.ts'
import { showInstant, useZone, type Zone } from '../../ui/text/instants.ts'
import { toggled } from '../../ui/toggled.ts'
import { columnsOf, type Labels, type ShownColumn } from './result-columns.ts'
import { orderOf, type Sorting } from './row-order.ts'

/** Columns that do not fit into less are below each other. A wider table is scrolled. */
const stackedPx = 480

interface ResultTableProps {
  rows: readonly Row[]
  columns: readonly Column[]
  labels?: Labels
}

/** A virtual table. */
export function ResultTable({ rows, columns, labels }: ResultTableProps) {
  const zone = useZone()
  const box = useRef<HTMLDivElement>(null)
  const [sorting, setSorting] = useState<Sorting>()
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set())
  const shown = useMemo(() => columnsOf(rows, columns, labels), [rows, columns, labels])
  const order = useMemo(() => orderOf(rows, sorting), [rows, sorting])
  const leastPx = sum(shown.map(({ leastWidth }) => leastWidth))
  const widthPx = useWidth(box)
  const isStacked = widthPx < Math.min(leastPx, stackedPx)
  const virtual = useVirtualizer({
    count: order.length,
    getScrollElement: () => box.current,
    estimateSize: () => (isStacked ? 16 + 27 * shown.length : 35),
    overscan: 12,
  })
  const tracks = shown.map(({ width, leastWidth }) => `minmax(${leastWidth}px, ${width}fr)`)
  const template = isStacked ? {} : { gridTemplateColumns: tracks.join(' ') }
  const least = isStacked ? {} : { minWidth: leastPx }
  const sort = (column: string) =>
    setSorting((now) =>
      now?.column !== column ? { column, down: false } : now.down ? undefined : { column, down: true },
    )
  return (
    <div
      className={`grid${order.length < 8 ? ' few' : ''}${isStacked ? ' stacked' : ''}`}
      ref={box}
      role="table"
      aria-label="Result"
      aria-rowcount={order.length + 1}
      tabIndex={0}
      onCopy={copyExactly}
    >
      <div className="grid-top" role="rowgroup" style={least}>
        <div className="grid-head" role="row" style={template} aria-rowindex={1}>
          {shown.map(({ name, title, right, type }) => {
            const by = sorting?.column === name ? (sorting.down ? 'descending' : 'ascending') : 'none'
            return (
              <div key={name} role="columnheader" aria-sort={by} className={right ? 'right' : ''}>
                <button type="button" onClick={() => sort(name)} title={type}>
                  <span>
                    <Breakable text={title} />
                  </span>
                  <span aria-hidden="true">{by === 'none' ? '' : by === 'ascending' ? '↑' : '↓'}</span>
                </button>
              </div>
            )
          })}
        </div>
      </div>
      <div className="grid-body" role="rowgroup" style={{ ...least, height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map((item) => {
          const index = order[item.index] as number
          const row = rows[index] as Row
          return (
            <div
              key={item.key}
              ref={virtual.measureElement}
              data-index={item.index}
              style={{ transform: `translateY(${item.start}px)` }}
            >
              <div className="grid-row" role="row" style={template} aria-rowindex={item.index + 2}>
                {shown.map((column) => (
                  <div
                    key={column.name}
                    role="cell"
                    className={`grid-cell${column.right ? ' right' : ''}`}
                    data-title={column.title}
                  >
                    <Cell
                      value={row[column.name]}
                      column={column}
                      zone={zone}
                      open={open.has(index)}
                      toggle={() => setOpen(toggled(open, index))}
                    />
                  </div>
                ))}
              </div>
              {open.has(index) && (
                <div role="row">
                  <div role="cell" aria-colspan={shown.length}>
                    <JsonTree value={row} />
                  </div>
                </div>
              )}
            </div>
          )
        })}
      </div>
    </div>
  )
}

/** The width of an element, which is unknown at first. */
function useWidth(element: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(Number.POSITIVE_INFINITY)
  useLayoutEffect(() => {
    const box = element.current as HTMLElement
    const observer = new ResizeObserver(() => setWidth(box.clientWidth))
    observer.observe(box)
    return () => observer.disconnect()
  }, [element])
  return width
}

interface CellProps {
  value: unknown
  column: ShownColumn
  zone: Zone
  open: boolean
  toggle: () => void
}

function Cell({ value, column, zone, open, toggle }: CellProps) {
  if (value === null || value === undefined) return <span className="null">null</span>
  const instant = column.instant(value)
  if (instant !== undefined && !column.isDays) {
    const other =
      zone === 'utc' ? `${showInstant(instant, 'local')} local` : `${showInstant(instant, 'utc')} UTC`
    return (
      <time dateTime={new Date(instant).toISOString()} title={other} className="number">
        {showInstant(instant, zone, instant % 1000 === 0 ? 'seconds' : 'full')}
      </time>
    )
  }
  if (typeof value === 'object') {
    const text = JSON.stringify(value)
    return (
      <button type="button" className="unfold" aria-expanded={open} onClick={toggle}>
        <span aria-hidden="true">{open ? '▾ ' : '▸ '}</span>
        {text.length > 200 ? `${text.slice(0, 200)}…` : text}
      </button>
    )
  }
  const [text, exact] = [column.text(value), String(value)]
  const isRounded = text.replaceAll(',', '') !== exact
  return (
    <span
      data-exact={text === exact ? undefined : exact}
      title={isRounded || exact.length > 40 ? exact : undefined}
    >
      {text}
    </span>
  )
}

/** Copies numbers with all of their digits and without separators, and cells as spreadsheets expect them. */
function copyExactly(event: ClipboardEvent): void {
  const selection = getSelection()
  if (!selection || selection.isCollapsed) return
  const inOne = selection.anchorNode?.parentElement?.closest<HTMLElement>('[data-exact]')
  const part = selection.getRangeAt(0).cloneContents()
  for (const one of part.querySelectorAll<HTMLElement>('[data-exact]')) {
    one.textContent = one.dataset.exact as string
  }
  const rows = [...part.querySelectorAll('.grid-head, .grid-row')]
  const lines = (rows.length > 0 ? rows : [part]).map((row) =>
    row.children.length > 1 ? [...row.children].map((cell) => cell.textContent).join('\t') : row.textContent,
  )
  const isAll = inOne && inOne.textContent === selection.toString().trim()
  event.clipboardData.setData('text/plain', isAll ? (inOne.dataset.exact as string) : lines.join('\n'))
  event.preventDefault()
}
