import { useId, useState } from 'react'
import { Button } from '../../ui/button.tsx'
import { WarningHelp } from './warning-help.tsx'

/** SQL that is valid but probably does not mean what its author intends. */
export interface SqlWarning {
  code: string
  message: string
  line: number
  column: number
}

/** Shows nothing if there are no warnings. */
export function WarningList({ warnings }: { warnings: readonly SqlWarning[] }) {
  const id = useId()
  const [explained, setExplained] = useState<string>()
  if (warnings.length === 0) return null
  return (
    <section className="note-box warn" aria-labelledby={id}>
      <h2 id={id}>{warnings.length === 1 ? '1 warning' : `${warnings.length} warnings`}</h2>
      <ul className="warnings">
        {warnings.map(({ code, message, line, column }) => (
          <li key={`${line} ${column} ${code} ${message}`}>
            Line {line}, column {column}: {message}{' '}
            <Button look="link mono" onClick={() => setExplained(code)}>
              {code}
            </Button>
          </li>
        ))}
      </ul>
      {explained !== undefined && <WarningHelp code={explained} onClose={() => setExplained(undefined)} />}
    </section>
  )
}
