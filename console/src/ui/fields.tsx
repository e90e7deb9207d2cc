import { type ComponentProps, type ReactNode, useId } from 'react'

type FormProps = Omit<ComponentProps<'form'>, 'onSubmit'> & { onSubmit: () => void }

/** A form that the page handles. */
export function Form({ onSubmit, ...rest }: FormProps) {
  return (
    <form
      {...rest}
      onSubmit={(event) => {
        event.preventDefault()
        onSubmit()
      }}
    />
  )
}

interface FieldProps {
  label: ReactNode
  note?: ReactNode
  /** Why the value cannot be used; empty if it can. */
  problem?: string
}

function Field({ id, label, note, problem, children }: FieldProps & { id: string; children: ReactNode }) {
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children}
      {problem !== undefined && (
        <span className="problem" id={`${id}-problem`} role="status">
          {problem}
        </span>
      )}
      {note && <span className="note">{note}</span>}
    </div>
  )
}

type TextFieldProps = FieldProps &
  Omit<ComponentProps<'input'>, 'onChange'> & { onChange: (value: string) => void }

export function TextField({ label, note, problem, onChange, className = '', ...rest }: TextFieldProps) {
  const id = useId()
  return (
    <Field id={id} label={label} note={note} {...(problem !== undefined && { problem })}>
      <input
        {...rest}
        id={id}
        aria-invalid={problem ? true : undefined}
        aria-describedby={problem === undefined ? undefined : `${id}-problem`}
        className={`input ${className}`}
        onChange={(event) => onChange(event.target.value)}
      />
    </Field>
  )
}

type NumberFieldProps = Omit<TextFieldProps, 'value' | 'onChange'> & {
  /** Null while the field is empty. */
  value: number | null
  onChange: (value: number | null) => void
}

/** A whole number. */
export function NumberField({ value, onChange, ...rest }: NumberFieldProps) {
  return (
    <TextField
      {...rest}
      value={value ?? ''}
      onChange={(text) => {
        if (/^\d{0,8}$/.test(text)) onChange(text === '' ? null : Number(text))
      }}
    />
  )
}

interface SelectFieldProps<T extends string> extends FieldProps {
  value: T
  /** Values, each with its text where that differs. */
  options: readonly (readonly [value: T, text?: string])[]
  onChange: (value: T) => void
}

export function SelectField<T extends string>(props: SelectFieldProps<T>) {
  const { label, note, value, options, onChange } = props
  const id = useId()
  return (
    <Field id={id} label={label} note={note}>
      <select id={id} className="input" value={value} onChange={(event) => onChange(event.target.value as T)}>
        {options.map(([key, text = key]) => (
          <option key={key} value={key}>
            {text}
          </option>
        ))}
      </select>
    </Field>
  )
}

interface CheckFieldProps {
  label: string
  note?: string
  checked: boolean
  onChange: (checked: boolean) => void
}

export function CheckField({ label, note, checked, onChange }: CheckFieldProps) {
  const id = useId()
  const field = (
    <label className="check">
      <input
        type="checkbox"
        checked={checked}
        aria-describedby={note && id}
        onChange={(event) => onChange(event.target.checked)}
      />
      {label}
    </label>
  )
  return note === undefined ? (
    field
  ) : (
    <div className="field">
      {field}
      <p className="note" id={id}>
        {note}
      </p>
    </div>
  )
}
