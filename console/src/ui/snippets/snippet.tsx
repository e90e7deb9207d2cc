import { useState } from 'react'
import { Choices } from '../choices.tsx'
import { CopyButton } from '../copy-button.tsx'
import type { Snippet } from './snippets.ts'

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
