import type { Parameters } from '../api/shapes.ts'
import { ParameterForm, type SeenAt } from '../endpoints/run/parameter-form.tsx'
import { likelyType, type ParameterType, parameterTypes } from '../endpoints/run/sql-parameters.ts'
import { SelectField } from '../ui/fields.tsx'
import type { Question } from './question.ts'

interface ParameterFieldsProps {
  names: readonly string[]
  question: Question
  /** Includes suggested values. */
  values: Record<string, string>
  problem: { parameter: string; message: string } | undefined
  seenAt: (name: string) => SeenAt | undefined
  onValue: (name: string, value: string | undefined) => void
  onType: (name: string, type: ParameterType | undefined) => void
}

/** A value and a type for each parameter of the query. */
export function ParameterFields(props: ParameterFieldsProps) {
  const { names, question, values, problem, seenAt, onValue, onType } = props
  return (
    <div className="form-grid">
      {names.map((name) => {
        const chosen = question.types[name]
        // A detected type does not change the field, which would take the focus away while the user types.
        const parameters: Parameters = { [name]: { type: chosen ?? 'string', required: true } }
        const detected = likelyType(name, values[name] ?? '')
        return (
          <div key={name} className="parameter-pair">
            <ParameterForm {...{ parameters, values, problem, seenAt }} onChange={onValue} />
            <SelectField<ParameterType | ''>
              label={
                <>
                  Type <span className="hidden-text">of {name}</span>
                </>
              }
              value={chosen ?? ''}
              options={[['', `Auto (${detected})`], ...parameterTypes.map((type) => [type] as const)]}
              onChange={(type) => onType(name, type === '' ? undefined : type)}
            />
          </div>
        )
      })}
    </div>
  )
}
