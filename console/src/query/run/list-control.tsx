import { type ComponentProps, useEffect, useState } from 'react'
import { listText, listValues } from '../../../../src/shared/list-text.ts'

interface ListControlProps {
  id: string
  name: string
  className: string
  'aria-describedby'?: string | undefined
  /** Undefined: any values. */
  choices: readonly string[] | undefined
  value: string | undefined
  placeholder: string
  /** Whether lines count once the field is left. */
  isSettled: boolean
  onChange: (value: string | undefined) => void
}

/** Several of the allowed values, or one value on each line. */
export function ListControl(props: ListControlProps) {
  const { choices, name, value, placeholder, isSettled, onChange, ...common } = props
  const values = value === undefined ? [] : listValues(value)
  const change = (chosen: readonly string[]) => onChange(chosen.length === 0 ? undefined : listText(chosen))
  if (!choices) {
    const hint = placeholder || 'one value on each line'
    return <Lines {...common} placeholder={hint} lines={values} isSettled={isSettled} onLines={change} />
  }
  const { id, className, 'aria-describedby': note } = common
  return (
    <div
      id={id}
      className={`list-choices ${className}`}
      role="group"
      aria-label={name}
      aria-describedby={note}
    >
      {choices.map((choice) => (
        <label key={choice} className="check">
          <input
            type="checkbox"
            checked={values.includes(choice)}
            onChange={({ target: { checked } }) =>
              change(choices.filter((one) => (one === choice ? checked : values.includes(one))))
            }
          />
          {choice}
        </label>
      ))}
    </div>
  )
}

interface LinesProps extends ComponentProps<'textarea'> {
  lines: readonly string[]
  isSettled: boolean
  onLines: (lines: readonly string[]) => void
}

const linesIn = (text: string) => text.split('\n').filter((line) => line !== '')

function Lines({ lines, isSettled, onLines, ...rest }: LinesProps) {
  const outside = lines.join('\n')
  const [text, setText] = useState(outside)
  useEffect(() => setText((now) => (linesIn(now).join('\n') === outside ? now : outside)), [outside])
  return (
    <textarea
      {...rest}
      rows={Math.min(Math.max(text.split('\n').length, 2), 6)}
      spellCheck={false}
      value={text}
      onChange={({ target }) => {
        setText(target.value)
        if (!isSettled) onLines(linesIn(target.value))
      }}
      onBlur={() => isSettled && onLines(linesIn(text))}
    />
  )
}
