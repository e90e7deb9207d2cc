import { useEffect, useRef, useState } from 'react'
import type { Snippet } from '../data/snippets.ts'
import { Choices } from './choices.tsx'
import { Icon } from './icon.tsx'

export function CopyButton({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [copied, setCopied] = useState(false)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  const copy = async () => {
    await copyText(text)
    setCopied(true)
    clearTimeout(timer.current)
    timer.current = setTimeout(() => setCopied(false), 1_500)
  }
  return (
    <button type="button" className="button small" onClick={copy}>
      <Icon name={copied ? 'done' : 'copy'} />
      <span aria-live="polite">{copied ? 'Copied' : label}</span>
    </button>
  )
}

/** Over plain HTTP browsers have no clipboard for scripts, but they still copy what is selected. */
async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text)
  const area = document.createElement('textarea')
  area.value = text
  document.body.append(area)
  area.select()
  document.execCommand('copy')
  area.remove()
}

export function SnippetBox({ text, label }: { text: string; label: string }) {
  return (
    <div className="snippet">
      <pre tabIndex={0} role="region" aria-label={label}>
        <code>{text}</code>
      </pre>
      <CopyButton text={text} />
    </div>
  )
}

export function SnippetTabs({ snippets, label }: { snippets: readonly Snippet[]; label: string }) {
  const [name, setName] = useState(snippets[0]?.name ?? '')
  const shown = snippets.find((snippet) => snippet.name === name) ?? snippets[0]
  return (
    <div className="stack">
      <Choices
        label={label}
        options={snippets.map((snippet) => [snippet.name, snippet.name] as const)}
        value={shown?.name ?? ''}
        onChange={setName}
      />
      <SnippetBox text={shown?.text ?? ''} label={`${label}: ${shown?.name}`} />
    </div>
  )
}
