import { listText, listValues } from '../../../../src/shared/list-text.ts'

interface ListControlProps {
  id: string
  className: string
  /** Undefined: any values. */
  choices: readonly string[] | undefined
  value: string | undefined
  placeholder: string
  onChange: (value: string | undefined) => void
}

/** Several of the allowed values, or one value on each line. */
export function ListControl({ choices, value, placeholder, onChange, ...common }: ListControlProps) {
  const values = value === undefined ? [] : listValues(value)
  const change = (chosen: readonly string[]) => onChange(chosen.length === 0 ? undefined : listText(chosen))
  if (choices) {
    return (
      <select
        {...common}
        multiple
        size={Math.min(choices.length, 5)}
        value={values}
        onChange={({ target }) => change([...target.selectedOptions].map((option) => option.value))}
      >
        {choices.map((choice) => (
          <option key={choice}>{choice}</option>
        ))}
      </select>
    )
  }
  return (
    <textarea
      {...common}
      rows={3}
      spellCheck={false}
      placeholder={placeholder || 'one value on each line'}
      defaultValue={values.join('\n')}
      onBlur={({ target }) => change(target.value.split('\n').filter((line) => line !== ''))}
    />
  )
}
