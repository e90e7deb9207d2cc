import { useId } from 'react'
import { builtInSources } from '../../ui/built-in/built-in.ts'

interface SourceFieldProps {
  source: string
  sources: readonly { name: string }[]
  /** Sources with entries; undefined where that is not known. */
  filled: ReadonlySet<string> | undefined
  onChange: (source: string) => void
}

/** The source to search. Built-in ones without entries come last. */
export function SourceField({ source, sources, filled, onChange }: SourceFieldProps) {
  const id = useId()
  const names = [...new Set([...sources.map(({ name }) => name), source])]
  const isFolded = (name: string) =>
    builtInSources.has(name) && filled?.has(name) === false && name !== source
  const options = (some: readonly string[]) => some.map((name) => <option key={name}>{name}</option>)
  const folded = names.filter(isFolded)
  return (
    <div className="field">
      <label htmlFor={id}>Source</label>
      <select id={id} className="input" value={source} onChange={({ target }) => onChange(target.value)}>
        {options(names.filter((name) => !isFolded(name)))}
        {folded.length > 0 && <optgroup label="Built-in, without entries">{options(folded)}</optgroup>}
      </select>
    </div>
  )
}
