import { type DragEvent, type PointerEvent, useRef } from 'react'
import { shownPath } from '../../../../src/shared/path-text.ts'
import { titleOf } from './entry-columns.ts'
import type { Columns, ShownColumn } from './use-columns.ts'

interface EntryHeadProps extends Pick<Columns, 'choose' | 'resize'> {
  columns: readonly ShownColumn[]
}

/** Names of the columns. Dragging a name moves its column, and dragging its edge changes the width; so does the picker. */
export function EntryHead({ columns, choose, resize }: EntryHeadProps) {
  const dragged = useRef<string>(undefined)
  const drop = (event: DragEvent, path: string) => {
    event.preventDefault()
    const moved = dragged.current
    if (moved === undefined || moved === path) return
    const paths = columns.map((one) => one.path)
    const rest = paths.filter((one) => one !== moved)
    const place = rest.indexOf(path) + (paths.indexOf(moved) < paths.indexOf(path) ? 1 : 0)
    choose([...rest.slice(0, place), moved, ...rest.slice(place)])
  }
  return (
    <div className="entry-head" aria-hidden="true">
      <span>time</span>
      {columns.map(({ path, width }) => (
        // biome-ignore lint/a11y/noStaticElementInteractions: the picker does the same with the keyboard
        <span
          key={path}
          title={shownPath(path)}
          draggable
          onDragStart={(event) => {
            dragged.current = path
            event.dataTransfer.effectAllowed = 'move'
          }}
          onDragOver={(event) => event.preventDefault()}
          onDrop={(event) => drop(event, path)}
        >
          {titleOf(path)}
          <Edge width={width} onResize={(next) => resize(path, next)} />
        </span>
      ))}
    </div>
  )
}

function Edge({ width, onResize }: { width: number; onResize: (width: number) => void }) {
  const start = useRef<{ x: number; width: number }>(undefined)
  const begin = (event: PointerEvent<HTMLElement>) => {
    event.preventDefault()
    event.currentTarget.setPointerCapture(event.pointerId)
    start.current = { x: event.clientX, width: event.currentTarget.parentElement?.offsetWidth ?? width }
  }
  const end = () => {
    start.current = undefined
  }
  return (
    <i
      onPointerDown={begin}
      onPointerMove={({ clientX }) =>
        start.current && onResize(start.current.width + clientX - start.current.x)
      }
      onPointerUp={end}
      onPointerCancel={end}
    />
  )
}
