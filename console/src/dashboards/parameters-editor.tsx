import { useId, useRef, useState } from 'react'
import type { Parameter } from '../api/shapes.ts'
import { ParameterEditor } from '../query/run/parameter-editor.tsx'
import { likelyType } from '../query/run/sql-parameters.ts'
import { Button } from '../ui/button.tsx'
import { Form, TextField } from '../ui/fields.tsx'
import type { DashboardDraft } from './dashboard-draft.ts'

interface ParametersEditorProps {
  parameters: DashboardDraft['parameters']
  onChange: (parameters: DashboardDraft['parameters']) => void
}

/** What viewers choose. Panels use a parameter as `@name`. */
export function ParametersEditor({ parameters, onChange }: ParametersEditorProps) {
  const id = useId()
  const section = useRef<HTMLElement>(null)
  const [edited, setEdited] = useState<string>()
  const [added, setAdded] = useState('')
  const set = (name: string, parameter: Parameter) =>
    onChange({ ...parameters, [name]: parameter } as typeof parameters)
  const close = (focused: string) => {
    setEdited(undefined)
    section.current?.querySelector<HTMLElement>(focused)?.focus()
  }
  const isName = /^[A-Za-z][A-Za-z0-9_]{0,63}$/.test(added) && !Object.hasOwn(parameters, added)
  const current = edited === undefined ? undefined : parameters[edited]
  return (
    <section className="stack" aria-labelledby={id} ref={section}>
      <h2 id={id}>Parameters</h2>
      <Form
        className="row"
        onSubmit={() => {
          if (!isName) return
          set(added, { type: likelyType(added, '') })
          setEdited(added)
          setAdded('')
        }}
      >
        {Object.keys(parameters).map((name) => (
          <Button
            key={name}
            look="mono"
            data-declares={name}
            aria-expanded={edited === name}
            onClick={() => setEdited(edited === name ? undefined : name)}
          >
            @{name}
          </Button>
        ))}
        <TextField label="New parameter" className="mono" value={added} onChange={setAdded} />
        <Button type="submit" disabled={!isName}>
          Add parameter
        </Button>
      </Form>
      {edited !== undefined && current && (
        <ParameterEditor
          key={edited}
          name={edited}
          parameter={current}
          onChange={(parameter) => set(edited, parameter)}
          onRemove={() => {
            const { [edited]: _, ...others } = parameters
            onChange(others)
            close('input')
          }}
          onClose={() => close(`[data-declares="${edited}"]`)}
        />
      )}
    </section>
  )
}
