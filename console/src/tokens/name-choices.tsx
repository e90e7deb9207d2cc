import { useId, useState } from 'react'
import { Icon } from '../ui/icon.tsx'

interface NameChoicesProps {
  /** `Endpoints` */
  label: string
  /** The text if none is chosen: `All endpoints`. */
  all: string
  names: readonly string[]
  chosen: readonly string[]
  onChange: (chosen: string[]) => void
}

/** Some of many names. Chosen ones need not exist any more. */
export function NameChoices({ label, all, names, chosen, onChange }: NameChoicesProps) {
  const id = useId()
  const [isLimited] = useState(chosen.length > 0)
  const others = names.filter((name) => !chosen.includes(name))
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select
        id={id}
        className="input"
        value=""
        onChange={({ target }) => target.value !== '' && onChange([...chosen, target.value])}
      >
        <option value="">{chosen.length === 0 ? all : 'Add another …'}</option>
        {others.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
      {chosen.length > 0 && (
        <ul className="chips" aria-label={`Chosen ${label.toLowerCase()}`}>
          {chosen.map((name) => (
            <li key={name} className="badge">
              {name}
              <button
                type="button"
                aria-label={`Remove ${name}`}
                onClick={() => onChange(chosen.filter((one) => one !== name))}
              >
                <Icon name="remove" />
              </button>
            </li>
          ))}
        </ul>
      )}
      <span className="note" role="status">
        {isLimited && chosen.length === 0 && `This allows ${all.toLowerCase()}.`}
      </span>
    </div>
  )
}
