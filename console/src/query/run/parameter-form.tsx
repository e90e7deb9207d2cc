import { useQuery } from '@tanstack/react-query'
import { type ComponentProps, Fragment, type ReactNode, useId, useLayoutEffect, useRef } from 'react'
import { queries } from '../../api/queries.ts'
import type { Parameter, Parameters } from '../../api/shapes.ts'
import { Button } from '../../ui/button.tsx'
import { ParameterControl } from './parameter-control.tsx'
import type { SeenAt } from './sql-parameters.ts'
import type { Run } from './use-run.ts'

interface ParameterFormProps {
  parameters: Parameters
  /** Fixed by the token. */
  fixed?: Record<string, string>
  values: Record<string, string>
  problem?: { parameter: string; message: string } | undefined
  seenAt: (name: string) => SeenAt | undefined
  onChange: (name: string, value: string | undefined) => void
  /** Beside the name of a parameter. */
  tools?: (name: string) => ReactNode
  /** After the field of a parameter. */
  below?: (name: string) => ReactNode
}

export function ParameterForm(props: ParameterFormProps) {
  const { parameters, fixed = {}, values, problem, seenAt, onChange, tools, below } = props
  const names = Object.keys(parameters)
  if (names.length === 0 && Object.keys(fixed).length === 0)
    return <p className="faint">This query has no parameters.</p>
  return (
    <>
      {Object.entries(fixed).map(([name, value]) => (
        <div className="field" key={name}>
          <span className="label">{name}</span>
          <span className="mono">{value}</span>
          <span className="note">Fixed by the token.</span>
        </div>
      ))}
      {names.map((name) => (
        <Fragment key={name}>
          <Field
            name={name}
            parameter={parameters[name] as Parameter}
            value={values[name]}
            problem={problem?.parameter === name ? problem.message : undefined}
            seen={seenAt(name)}
            tools={tools?.(name)}
            onChange={(value) => onChange(name, value)}
          />
          {below?.(name)}
        </Fragment>
      ))}
    </>
  )
}

interface FieldProps {
  name: string
  parameter: Parameter
  value: string | undefined
  problem: string | undefined
  seen: SeenAt | undefined
  tools: ReactNode
  onChange: (value: string | undefined) => void
}

function Field(props: FieldProps) {
  const { name, parameter, problem, tools } = props
  const id = useId()
  return (
    <div className="field">
      <label htmlFor={id}>
        {name}
        {parameter.required && <span className="faint"> · required</span>}
      </label>
      <Control {...props} id={id} />
      {tools && <div className="tools">{tools}</div>}
      {problem !== undefined && (
        <span className="problem" role="alert">
          {problem}
        </span>
      )}
      {parameter.description && (
        <span className="note" id={`${id}-note`} title={parameter.description}>
          {parameter.description}
        </span>
      )}
    </div>
  )
}

function Control({ id, name, parameter, value, problem, seen, onChange }: FieldProps & { id: string }) {
  const { type, default: preset, example, description } = parameter
  // Tokens that cannot read the data get suggestions from the declaration.
  const all = [preset, example].filter((one) => one !== undefined && one !== '').map(String)
  const known = [...new Set(all)]
  return (
    <ParameterControl
      {...{ id, name, parameter, value, onChange }}
      aria-invalid={problem !== undefined}
      aria-describedby={description ? `${id}-note` : undefined}
      text={(attributes) => (
        <>
          <TextInput
            {...attributes}
            list={seen || known.length > 0 ? `${id}-seen` : undefined}
            inputMode={type === 'integer' || type === 'number' ? 'decimal' : undefined}
            placeholder={String(preset ?? example ?? '')}
            spellCheck={false}
            autoComplete="off"
            value={value ?? ''}
            onText={(text) => onChange(text || undefined)}
          />
          {seen ? (
            <SeenValues id={`${id}-seen`} {...seen} />
          ) : (
            <Suggestions id={`${id}-seen`} values={known} />
          )}
        </>
      )}
    />
  )
}

/** Selects a value that is suggested while the field has the focus, so that typing replaces it. */
function TextInput({
  value,
  onText,
  ...rest
}: ComponentProps<'input'> & { value: string; onText: (text: string) => void }) {
  const input = useRef<HTMLInputElement>(null)
  const typed = useRef(value)
  useLayoutEffect(() => {
    if (value !== typed.current && document.activeElement === input.current) input.current?.select()
  }, [value])
  return (
    <input
      {...rest}
      ref={input}
      value={value}
      onChange={({ target }) => {
        typed.current = target.value
        onText(target.value)
      }}
    />
  )
}

function SeenValues({ id, source, path }: SeenAt & { id: string }) {
  const { data = [] } = useQuery(queries.values(source, path))
  return <Suggestions id={id} values={data.map(({ value }) => value)} />
}

function Suggestions({ id, values }: { id: string; values: readonly string[] }) {
  return (
    <datalist id={id}>
      {values.map((value) => (
        <option key={value} value={value} />
      ))}
    </datalist>
  )
}

/** Starts a run, or stops the current one. Two elements, because the click that stops must not submit the form. */
export function RunButton({ run, stop }: { run: Run; stop: () => void }) {
  if (run.state === 'running') {
    return (
      <Button key="stop" look="small" onClick={stop}>
        Stop
      </Button>
    )
  }
  return (
    <Button
      key="run"
      type="submit"
      look="primary small"
      aria-keyshortcuts="Control+Enter Meta+Enter"
      icon="run"
    >
      Run <kbd>{/Mac/.test(navigator.platform) ? '⌘' : 'Ctrl'} ⏎</kbd>
    </Button>
  )
}
