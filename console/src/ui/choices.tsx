import { setZone, useZone } from './text/instants.ts'

interface ChoicesProps<T extends string> {
  label: string
  options: readonly (readonly [T, string])[]
  value: T
  onChange: (value: T) => void
}

/** One of a few, side by side. */
export function Choices<T extends string>({ label, options, value, onChange }: ChoicesProps<T>) {
  return (
    <div className="choices" role="group" aria-label={label}>
      {options.map(([key, text]) => (
        <button key={key} type="button" aria-pressed={key === value} onClick={() => onChange(key)}>
          {text}
        </button>
      ))}
    </div>
  )
}

const zones = [
  ['local', 'Local time'],
  ['utc', 'UTC'],
] as const

/** Applies to every page. */
export function ZoneChoice() {
  return <Choices label="Time zone" options={zones} value={useZone()} onChange={setZone} />
}
