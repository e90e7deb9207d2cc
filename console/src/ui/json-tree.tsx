import { useState } from 'react'
import { count } from './format.ts'

export interface JsonTreeProps {
  value: unknown
  /** Called with the keys that lead to a value that was chosen. */
  onFilter?: ((keys: string[], value: string, exclude: boolean) => void) | undefined
}

const maxMembers = 200
/** Longer texts are folded. */
const maxText = 400
/** What is longer is nothing to look for, and too much for an address. */
const maxFilter = 1_000

/** A nested value, unfolded. */
export function JsonTree({ value, onFilter }: JsonTreeProps) {
  return (
    <div className="json">
      <Members value={value} keys={[]} onFilter={onFilter} />
    </div>
  )
}

function Members({ value, keys, onFilter }: JsonTreeProps & { keys: string[] }) {
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
            // What is inside of a list has no path that the service knows.
            <Members
              value={member}
              keys={[...keys, key]}
              onFilter={Array.isArray(member) ? undefined : onFilter}
            />
          ) : (
            <Leaf value={member} keys={[...keys, key]} onFilter={isList ? undefined : onFilter} />
          )}
        </li>
      ))}
      {shown.length < members.length && (
        <li>
          <button type="button" className="link" onClick={() => setAll(true)}>
            {members.length - shown.length} more
          </button>
        </li>
      )}
    </ul>
  )
}

function Leaf({ value, keys, onFilter }: JsonTreeProps & { keys: string[] }) {
  const [all, setAll] = useState(false)
  const text = typeof value === 'string' ? value : String(value)
  const kind = value === null ? 'null' : typeof value
  const isLong = text.length > maxText
  const where = `${keys.join('.')} ${text.slice(0, 80)}`
  const shown = isLong && !all ? text.slice(0, maxText) : text
  return (
    <>
      <span className={`value ${kind}${isLong && all ? ' long' : ''}`}>
        {kind === 'string' ? JSON.stringify(shown) : shown}
        {isLong && !all && '…'}
      </span>
      {isLong && (
        <button type="button" className="link" aria-expanded={all} onClick={() => setAll(!all)}>
          {all ? 'Less' : `All ${count(text.length)} characters`}
        </button>
      )}
      {onFilter && value !== null && text.length <= maxFilter && (
        <span className="tools">
          <button
            type="button"
            aria-label={`Only ${where}`}
            title="Only these"
            onClick={() => onFilter(keys, text, false)}
          >
            +
          </button>
          <button
            type="button"
            aria-label={`Without ${where}`}
            title="Without these"
            onClick={() => onFilter(keys, text, true)}
          >
            −
          </button>
        </span>
      )}
    </>
  )
}
