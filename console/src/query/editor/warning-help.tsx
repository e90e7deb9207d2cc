import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Dialog } from '../../ui/dialog.tsx'
import { InlineCode } from '../../ui/inline-code.tsx'
import { Loaded } from '../../ui/states.tsx'

/** The section of the documentation about one code of warnings. */
export function WarningHelp({ code, onClose }: { code: string; onClose: () => void }) {
  const query = useQuery({
    queryKey: ['warning-help'],
    queryFn: async () => (await import('../../../../docs/reference/warnings.md?raw')).default,
    staleTime: Number.POSITIVE_INFINITY,
  })
  return (
    <Dialog close="Close" title={code} onClose={onClose}>
      <Loaded query={query} what="the help">
        {(page) => <div className="stack">{sectionOf(page, code).map(block)}</div>}
      </Loaded>
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
  if (!text.startsWith('```'))
    return (
      <p key={text}>
        <InlineCode text={text} />
      </p>
    )
  const [fence, ...lines] = text.split('\n')
  const label = fence?.endsWith(' wrong') ? 'SQL with this warning' : 'SQL without this warning'
  return (
    <pre key={text} className="json-text" tabIndex={0} role="region" aria-label={label}>
      {lines.slice(0, -1).join('\n')}
    </pre>
  )
}
