import { useId } from 'react'
import { Button } from '../ui/button.tsx'
import type { Pair } from './fixed-parameters.ts'

interface FixedParametersFieldsProps {
  pairs: readonly Pair[]
  /** Names that endpoints of the token declare. */
  names: readonly string[]
  problem: { index: number; message: string } | undefined
  onChange: (pairs: Pair[]) => void
}

export function FixedParametersFields({ pairs, names, problem, onChange }: FixedParametersFieldsProps) {
  const id = useId()
  const set = (index: number, fields: Partial<Pair>) =>
    onChange(pairs.map((pair, at) => (at === index ? { ...pair, ...fields } : pair)))
  const common = { className: 'input mono', spellCheck: false, autoComplete: 'off' }
  return (
    <fieldset className="field">
      <legend>Fixed parameters</legend>
      {pairs.map((pair, index) => {
        const isWrong = problem?.index === index
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: rows have no other identity, and only the last one is added
          <div className="pair" key={index}>
            <input
              {...common}
              list={`${id}-names`}
              aria-label={`Name of fixed parameter ${index + 1}`}
              aria-invalid={isWrong}
              aria-describedby={isWrong ? `${id}-problem` : `${id}-note`}
              placeholder="project_tier"
              value={pair.name}
              onChange={(event) => set(index, { name: event.target.value })}
            />
            <input
              {...common}
              aria-label={`Value of fixed parameter ${index + 1}`}
              placeholder="PRO"
              value={pair.value}
              onChange={(event) => set(index, { value: event.target.value })}
            />
          </div>
        )
      })}
      <datalist id={`${id}-names`}>
        {names.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      {problem && (
        <span className="problem" id={`${id}-problem`} role="alert">
          {problem.message}
        </span>
      )}
      <div className="tabs-line">
        <span className="note" id={`${id}-note`}>
          Requests cannot change them.
        </span>
        <Button look="small" onClick={() => onChange([...pairs, { name: '', value: '' }])} icon="plus">
          Add parameter
        </Button>
      </div>
    </fieldset>
  )
}
