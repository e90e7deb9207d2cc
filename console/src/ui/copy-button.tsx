import { useEffect, useRef, useState } from 'react'
import { Icon } from './icon.tsx'

type Outcome = 'copied' | 'failed' | undefined

export function CopyButton({
  text,
  label = 'Copy',
  onFailed,
}: {
  text: string
  label?: string
  /** Where the reader has to copy it: for instance by selecting it for them. */
  onFailed?: () => void
}) {
  const button = useRef<HTMLButtonElement>(null)
  const [outcome, setOutcome] = useState<Outcome>()
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  const copy = async () => {
    const done = await copyText(text, button.current as HTMLButtonElement)
    setOutcome(done ? 'copied' : 'failed')
    if (!done) onFailed?.()
    clearTimeout(timer.current)
    timer.current = setTimeout(() => setOutcome(undefined), done ? 1_500 : 6_000)
  }
  return (
    <button ref={button} type="button" className="button small" onClick={copy}>
      <Icon name={outcome === 'copied' ? 'done' : 'copy'} />
      <span aria-live="polite">
        {outcome === 'copied' ? 'Copied' : outcome === 'failed' ? 'Not copied: select it and copy' : label}
      </span>
    </button>
  )
}

/**
 * Whether it is in the clipboard now. Over plain HTTP browsers have none for scripts, but they still copy what is selected;
 * in a dialog only what is inside of it can be.
 */
async function copyText(text: string, near: HTMLElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return copySelected(text, near)
  }
}

function copySelected(text: string, near: HTMLElement): boolean {
  const area = document.createElement('textarea')
  area.value = text
  area.className = 'hidden-text'
  area.readOnly = true
  ;(near.closest('dialog') ?? document.body).append(area)
  area.select()
  try {
    return document.execCommand('copy')
  } catch {
    return false
  } finally {
    area.remove()
    near.focus()
  }
}
