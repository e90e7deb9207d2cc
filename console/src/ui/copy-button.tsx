import { useEffect, useRef, useState } from 'react'
import { Icon } from './icon.tsx'

interface CopyButtonProps {
  text: string
  label?: string
  /** Called where the reader has to copy by hand, for instance to select the text. */
  onFailed?: () => void
}

export function CopyButton({ text, label = 'Copy', onFailed }: CopyButtonProps) {
  const button = useRef<HTMLButtonElement>(null)
  const [outcome, setOutcome] = useState<'copied' | 'failed'>()
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  const copy = async () => {
    const done = await copyText(text, button.current as HTMLButtonElement)
    setOutcome(done ? 'copied' : 'failed')
    if (!done) onFailed?.()
    clearTimeout(timer.current)
    timer.current = setTimeout(() => setOutcome(undefined), done ? 1_500 : 6_000)
  }
  const texts = { copied: 'Copied', failed: 'Not copied. Select the text and copy it.' }
  return (
    <button ref={button} type="button" className="button small" onClick={copy}>
      <Icon name={outcome === 'copied' ? 'done' : 'copy'} />
      <span aria-live="polite">{outcome ? texts[outcome] : label}</span>
    </button>
  )
}

/**
 * Over plain HTTP, scripts have no clipboard, but browsers still copy what is selected. While a dialog is open, only text
 * inside it can be selected.
 */
export async function copyText(text: string, near: HTMLElement): Promise<boolean> {
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
