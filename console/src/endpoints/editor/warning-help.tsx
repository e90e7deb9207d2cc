import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Dialog } from '../../ui/dialog.tsx'
import { Loaded } from '../../ui/states.tsx'

/** The section of the documentation about one code of warnings. */
export function WarningHelp({ code, onClose }: { code: string; onClose: () => void }) {
  const query = useQuery({
    queryKey: ['warning-help'],
    queryFn: async () => (await import('../../../../docs/reference/warnings.md?raw')).default,
    staleTime: Number.POSITIVE_INFINITY,
  })
  return (
    <Dialog title={code} onClose={onClose}>
      <Loaded query={query} what="the help">
        {(page) => <div className="stack">{sectionOf(page, code).map(block)}</div>}
      </Loaded>
      <div className="dialog-foot">
        <button type="button" className="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  )
}

/** Paragraphs and code between the heading and the next one. */
function sectionOf(page: string, code: string): string[] {
  const section = page.split(/^## /m).find((part) => part.startsWith(`${code}\n`)) ?? ''
  const pieces = section.slice(code.length).split(/^```/m)
  return pieces
    .flatMap((piece, index) => (index % 2 === 1 ? [`\`\`\`${piece}\`\`\``] : piece.split(/\n{2,}/)))
    .map((piece) => piece.trim())
    .filter((piece) => piece !== '')
}

function block(text: string): ReactNode {
  if (!text.startsWith('```')) return <p key={text}>{inline(text)}</p>
  const [fence, ...lines] = text.split('\n')
  const label = fence?.endsWith(' wrong') ? 'SQL with this warning' : 'SQL without this warning'
  return (
    <pre key={text} className="json-text" tabIndex={0} role="region" aria-label={label}>
      {lines.slice(0, -1).join('\n')}
    </pre>
  )
}

/** Code in backticks; links are only their text, because the service does not serve the other pages. */
export function inline(text: string): ReactNode[] {
  const plain = text.replace(/\[([^[\]]+)\]\([^()]+\)/g, '$1')
  // biome-ignore lint/suspicious/noArrayIndexKey: pieces of one text have no other name
  return plain.split('`').map((piece, index) => (index % 2 === 1 ? <code key={index}>{piece}</code> : piece))
}
