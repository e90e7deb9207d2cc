import { useState } from 'react'

export interface JsonTreeProps {
  value: unknown
  /** Called with the keys that lead to a value that was chosen. */
  onFilter?: ((keys: string[], value: string, exclude: boolean) => void) | undefined
}

const maxMembers = 200

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
  const text = typeof value === 'string' ? value : String(value)
  const kind = value === null ? 'null' : typeof value
  const where = keys.join('.')
  return (
    <>
      <span className={`value ${kind}`}>{kind === 'string' ? JSON.stringify(value) : text}</span>
      {onFilter && value !== null && (
        <span className="tools">
          <button
            type="button"
            aria-label={`Only ${where} ${text}`}
            title="Only these"
            onClick={() => onFilter(keys, text, false)}
          >
            +
          </button>
          <button
            type="button"
            aria-label={`Without ${where} ${text}`}
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
