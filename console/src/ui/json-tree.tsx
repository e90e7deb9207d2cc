import { useState } from 'react'
import { Button } from './button.tsx'
import { copyText } from './copy-button.tsx'
import { Icon } from './icon.tsx'
import { count } from './text/format.ts'

interface JsonTreeProps {
  value: unknown
  /** Called with the keys that lead to the chosen value. */
  onFilter?: ((keys: string[], value: string, exclude: boolean) => void) | undefined
  onColumn?: ((keys: string[]) => void) | undefined
}

const maxMembers = 200
/** Longer texts are collapsed. */
const maxText = 400
/** Longer values do not fit into an address. */
const maxFilter = 1_000
const filters = [
  ['Filter for', '+', false],
  ['Filter out', '−', true],
] as const

/** A nested value, expanded. */
export function JsonTree({ value, ...actions }: JsonTreeProps) {
  return (
    <div className="json">
      <Members value={value} keys={[]} {...actions} />
    </div>
  )
}

function Members({ value, keys, ...actions }: JsonTreeProps & { keys: string[] }) {
  const [all, setAll] = useState(false)
  const isList = Array.isArray(value)
  const members = Object.entries((value ?? {}) as Record<string, unknown>)
  if (members.length === 0) return <span className="null">{isList ? '[]' : '{}'}</span>
  const shown = all ? members : members.slice(0, maxMembers)
  return (
    <ul>
      {shown.map(([key, member]) => (
        <li key={key}>
          <span className="key">{key}:</span>
          {typeof member === 'object' && member !== null ? (
            // The service has no paths into lists.
            <Members value={member} keys={[...keys, key]} {...(!Array.isArray(member) && actions)} />
          ) : (
            <Leaf value={member} keys={[...keys, key]} {...(!isList && actions)} />
          )}
        </li>
      ))}
      {shown.length < members.length && (
        <li>
          <Button look="link" onClick={() => setAll(true)}>
            {members.length - shown.length} more
          </Button>
        </li>
      )}
    </ul>
  )
}

/** As JSON, but with its line breaks and tabs, as stacks have them. */
function escaped(text: string): string {
  const parts = text.split(/(\r?\n|\t)/)
  return parts.map((part, index) => (index % 2 ? part : JSON.stringify(part).slice(1, -1))).join('')
}

function Leaf({ value, keys, onFilter, onColumn }: JsonTreeProps & { keys: string[] }) {
  const [all, setAll] = useState(false)
  const text = String(value)
  const kind = value === null ? 'null' : typeof value
  const isLong = text.length > maxText
  const where = `${keys.join('.')} ${text.slice(0, 80)}`
  const shown = isLong && !all ? text.slice(0, maxText) : text
  return (
    <>
      <span className={`value ${kind}${isLong && all ? ' long' : ''}`}>
        {kind === 'string' ? `"${escaped(shown)}"` : shown}
        {isLong && !all && '…'}
      </span>
      {isLong && (
        <Button look="link" aria-expanded={all} onClick={() => setAll(!all)}>
          {all ? 'Less' : `All ${count(text.length)} characters`}
        </Button>
      )}
      {onFilter && value !== null && text.length <= maxFilter && (
        <span className="tools">
          {filters.map(([label, sign, exclude]) => (
            <button
              key={label}
              type="button"
              aria-label={`${label} ${where}`}
              title={`${label} this value`}
              onClick={() => onFilter(keys, text, exclude)}
            >
              {sign}
            </button>
          ))}
          <button
            type="button"
            aria-label={`Copy ${where}`}
            title="Copy this value"
            onClick={(event) => copyText(text, event.currentTarget)}
          >
            <Icon name="copy" />
          </button>
          {onColumn && (
            <button
              type="button"
              aria-label={`Show ${keys.join('.')} as a column`}
              title="Show as a column"
              onClick={() => onColumn(keys)}
            >
              <Icon name="column" />
            </button>
          )}
        </span>
      )}
    </>
  )
}
