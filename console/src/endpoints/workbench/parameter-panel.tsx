import { useRef, useState } from 'react'
import type { Parameter, Parameters } from '../../api/shapes.ts'
import { LiveToggle } from '../../live/live-toggle.tsx'
import { ParameterEditor } from '../../query/run/parameter-editor.tsx'
import { ParameterForm, RunButton } from '../../query/run/parameter-form.tsx'
import { likelyType } from '../../query/run/sql-parameters.ts'
import { Button } from '../../ui/button.tsx'
import { Form } from '../../ui/fields.tsx'
import type { Workbench } from './use-workbench.ts'

/** A field for each parameter, with its declaration. */
export function ParameterPanel({ work }: { work: Workbench }) {
  const { parameters, draft, used, values, runner, seenAt, setDraft } = work
  const { parameters: declared } = draft
  const onDeclare = (next: Parameters) => setDraft((now) => ({ ...now, parameters: next }))
  const [edited, setEdited] = useState<string>()
  const form = useRef<HTMLFormElement>(null)
  const set = (name: string, parameter: Parameter) => onDeclare({ ...declared, [name]: parameter })
  const close = (name: string) => {
    setEdited(undefined)
    form.current?.querySelector<HTMLElement>(`[data-declares="${name}"]`)?.focus()
  }
  const declare = (name: string) => {
    if (!Object.hasOwn(declared, name))
      set(name, { type: likelyType(name, values[name] ?? ''), ...parameters[name] })
    setEdited((now) => (now === name ? undefined : name))
  }
  const remove = (name: string) => {
    const { [name]: _, ...others } = declared
    onDeclare(others)
    close(name)
  }
  return (
    <Form className="card" ref={form} onSubmit={work.begin}>
      <div className="card-head">
        <h2>Parameters</h2>
        <div className="actions">
          {!work.isDraft && <LiveToggle live={work.live.live} onToggle={work.live.toggle} />}
          <RunButton run={runner.run} stop={runner.stop} />
        </div>
      </div>
      <div className="card-body parameter-panel">
        <ParameterForm
          parameters={parameters}
          values={values}
          seenAt={seenAt}
          problem={runner.problem}
          onChange={work.change}
          tools={(name) => {
            const isDeclared = Object.hasOwn(declared, name)
            return (
              <>
                {!used.includes(name) && <span className="faint">not used</span>}
                <Button
                  look="link"
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
                </Button>
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
    </Form>
  )
}
