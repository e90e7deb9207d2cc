import { type RefObject, useEffect, useRef } from 'react'
import { isTyping } from '../../ui/typing.ts'

interface RowKeys {
  /** Around the rows, each of which has its position as `data-index` and begins with a button. */
  box: RefObject<HTMLElement | null>
  count: number
  scrollTo: (index: number) => void
  close: (index: number) => void
}

/** `j` and `k` move through the rows from anywhere on the page, and Escape closes the row that has the focus. */
export function useRowKeys(keys: RowKeys): (index: number) => void {
  const latest = useRef(keys)
  latest.current = keys
  const focusRow = (index: number) => {
    const { box, scrollTo } = latest.current
    scrollTo(index)
    const row = () => box.current?.querySelector<HTMLElement>(`[data-index="${index}"] > button`)
    row()?.focus()
    // It may not be drawn yet.
    if (!row()) requestAnimationFrame(() => row()?.focus())
  }
  // biome-ignore lint/correctness/useExhaustiveDependencies: reads the latest values
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const { key, ctrlKey, metaKey, altKey } = event
      if (event.defaultPrevented || ctrlKey || metaKey || altKey) return
      if (!['j', 'k', 'Escape'].includes(key) || document.querySelector('dialog[open]')) return
      const { box, count, close } = latest.current
      const row = document.activeElement?.closest<HTMLElement>('[data-index]')
      const index = row && box.current?.contains(row) ? Number(row.dataset.index) : -1
      if (key === 'Escape') {
        if (index < 0) return
        close(index)
        focusRow(index)
      } else if (!isTyping(event) && count > 0) {
        event.preventDefault()
        focusRow(Math.min(count - 1, Math.max(0, index + (key === 'j' ? 1 : -1))))
      }
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [])
  return focusRow
}
