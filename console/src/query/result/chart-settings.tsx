import { Choices } from '../../ui/choices.tsx'
import { CheckField, SelectField } from '../../ui/fields.tsx'
import type { Chart, ChartColumns, Choice } from './chart-choice.ts'

const types = [
  ['automatic', 'Automatic'],
  ['lines', 'Lines'],
  ['bars', 'Bars'],
  ['stacked', 'Stacked'],
  ['number', 'Number'],
  ['table', 'Table'],
] as const

interface ChartSettingsProps {
  chart: Chart | null
  /** What is drawn now. */
  choice: Choice
  columns: ChartColumns
  onChange: (chart: Chart | null) => void
}

/** Null is the automatic choice. */
export function ChartSettings({ chart, choice, columns, onChange }: ChartSettingsProps) {
  const { times, numbers, texts } = columns
  const drawn = 'x' in choice ? choice : undefined
  const type: Chart['type'] = chart?.type ?? (choice.type === 'none' ? 'bars' : choice.type)
  const set = (fields: Partial<Chart>) =>
    onChange({ x: null, y: [], series: null, ...chart, type, ...fields })
  const namesOf = (list: readonly { name: string }[]) => list.map(({ name }) => [name] as const)
  /** A chosen column that the result does not have is an option, so that another can be chosen. */
  const optionsOf = (list: readonly { name: string }[], chosen: string | null | undefined) =>
    chosen && !list.some(({ name }) => name === chosen)
      ? [[chosen, `${chosen} (missing)`] as const, ...namesOf(list)]
      : namesOf(list)
  const automatic = (name: string | undefined) =>
    ['', name === undefined ? 'Automatic' : `Automatic (${name})`] as const
  const y = 'y' in choice ? choice.y : (chart?.y ?? [])
  const measures = numbers.filter(({ name }) => name !== drawn?.x.name && name !== drawn?.series)
  return (
    <div className="stack" role="group" aria-label="Chart settings">
      <Choices
        label="Chart type"
        options={types}
        value={chart?.type ?? 'automatic'}
        onChange={(chosen) => (chosen === 'automatic' ? onChange(null) : set({ type: chosen }))}
      />
      {type !== 'table' && (
        <div className="form-grid">
          {type !== 'number' && (
            <>
              <SelectField
                label="X-axis"
                value={chart?.x ?? ''}
                options={[automatic(drawn?.x.name), ...optionsOf([...times, ...texts, ...numbers], chart?.x)]}
                onChange={(name) => set({ x: name || null })}
              />
              <SelectField
                label="Series"
                note="One series for each value of this column."
                value={chart?.series ?? ''}
                options={[
                  automatic(drawn?.series ?? 'none'),
                  ...optionsOf([...texts, ...numbers], chart?.series),
                ]}
                onChange={(name) => set({ series: name || null })}
              />
            </>
          )}
          {drawn?.series !== undefined ? (
            <SelectField
              label="Y-axis"
              value={y[0] ?? ''}
              options={namesOf(measures)}
              onChange={(name) => set({ y: [name] })}
            />
          ) : (
            <fieldset className="field">
              <legend>{type === 'number' ? 'Numbers' : 'Y-axis'}</legend>
              {measures.slice(0, 20).map(({ name }) => (
                <CheckField
                  key={name}
                  label={name}
                  checked={y.includes(name)}
                  onChange={(checked) =>
                    set({
                      y: measures
                        .map((one) => one.name)
                        .filter((one) => (one === name ? checked : y.includes(one))),
                    })
                  }
                />
              ))}
            </fieldset>
          )}
        </div>
      )}
    </div>
  )
}
