import { type ReactNode, useRef, useState } from 'react'
import type { Parameter, Parameters } from '../../api/shapes.ts'
import { ParameterEditor } from './parameter-editor.tsx'
import { ParameterForm, type SeenAt } from './parameter-form.tsx'
import { likelyType } from './sql-parameters.ts'

interface ParameterPanelProps {
  /** Declared parameters, and those that only the SQL names, with the types that it tells. */
  parameters: Parameters
  declared: Parameters
  /** Names in the SQL. */
  used: readonly string[]
  values: Record<string, string>
  problem: { parameter: string; message: string } | undefined
  seenAt: (name: string) => SeenAt | undefined
  onValue: (name: string, value: string | undefined) => void
  onDeclare: (parameters: Parameters) => void
  onSubmit: () => void
  actions: ReactNode
}

/** A field for each parameter, with its declaration. */
export function ParameterPanel(props: ParameterPanelProps) {
  const { parameters, declared, used, values, problem, seenAt, onValue, onDeclare, onSubmit, actions } = props
  const [edited, setEdited] = useState<string>()
  const form = useRef<HTMLFormElement>(null)
  const set = (name: string, parameter: Parameter) => onDeclare({ ...declared, [name]: parameter })
  const close = (name: string) => {
    setEdited(undefined)
    form.current?.querySelector<HTMLElement>(`[data-declares="${name}"]`)?.focus()
  }
  const declare = (name: string) => {
    if (!Object.hasOwn(declared, name))
      set(name, { type: parameters[name]?.type ?? likelyType(name, values[name] ?? '') })
    setEdited((now) => (now === name ? undefined : name))
  }
  const remove = (name: string) => {
    const { [name]: _, ...others } = declared
    onDeclare(others)
    close(name)
  }
  return (
    <form
      className="card"
      ref={form}
      onSubmit={(event) => {
        event.preventDefault()
        onSubmit()
      }}
    >
      <div className="card-head">
        <h2>Parameters</h2>
        <div className="actions">{actions}</div>
      </div>
      <div className="card-body parameter-panel">
        <ParameterForm
          {...{ parameters, values, problem, seenAt }}
          onChange={onValue}
          tools={(name) => {
            const isDeclared = Object.hasOwn(declared, name)
            return (
              <>
                {!used.includes(name) && <span className="faint">not used</span>}
                <button
                  type="button"
                  className="link"
                  data-declares={name}
                  aria-expanded={edited === name}
                  onClick={() => declare(name)}
                >
                  {isDeclared ? (
                    <>
                      Edit <span className="hidden-text">@{name}</span>
                    </>
                  ) : (
                    `Declare @${name}`
                  )}
                </button>
              </>
            )
          }}
          below={(name) =>
            edited === name &&
            Object.hasOwn(declared, name) && (
              <ParameterEditor
                name={name}
                parameter={declared[name] as Parameter}
                onChange={(parameter) => set(name, parameter)}
                onRemove={() => remove(name)}
                onClose={() => close(name)}
              />
            )
          }
        />
      </div>
    </form>
  )
}
