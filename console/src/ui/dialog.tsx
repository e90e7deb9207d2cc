import { type ReactNode, useId, useLayoutEffect, useRef } from 'react'
import { Button } from './button.tsx'
import { Form } from './fields.tsx'
import { Failure } from './states.tsx'

interface DialogProps {
  title: string
  /** For tables. */
  isWide?: boolean
  onClose: () => void
  /** A button that closes it, where it has no others. */
  close?: 'Close' | 'Done'
  children: ReactNode
}

/** Blocks the page behind it. Escape closes it. */
export function Dialog({ title, isWide = false, onClose, close, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  // A layout effect is cleaned up while the element is still there, so closing it returns the focus.
  useLayoutEffect(() => {
    const element = dialog.current as HTMLDialogElement
    element.showModal()
    return () => element.close()
  }, [])
  return (
    <dialog
      ref={dialog}
      className={isWide ? 'wide' : ''}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
    >
      <div className="dialog-body">
        <h2 id={id}>{title}</h2>
        {children}
        {close && (
          <div className="dialog-foot">
            <Button look={close === 'Done' ? 'primary' : ''} onClick={onClose}>
              {close}
            </Button>
          </div>
        )}
      </div>
    </dialog>
  )
}

interface DialogFormProps {
  action: string
  tone?: 'primary' | 'danger'
  disabled?: boolean
  error?: Error | null | undefined
  onSubmit: () => void
  onClose: () => void
  children: ReactNode
}

export function DialogForm(props: DialogFormProps) {
  const { action, tone = 'primary', disabled = false, error, onSubmit, onClose, children } = props
  return (
    <Form className="stack" onSubmit={onSubmit}>
      {children}
      {error && <Failure error={error} />}
      <div className="dialog-foot">
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" look={tone} disabled={disabled}>
          {action}
        </Button>
      </div>
    </Form>
  )
}

/** A form in a dialog. */
export function FormDialog({ title, isWide = false, ...form }: Omit<DialogProps, 'close'> & DialogFormProps) {
  return (
    <Dialog title={title} isWide={isWide} onClose={form.onClose}>
      <DialogForm {...form} />
    </Dialog>
  )
}

interface ConfirmProps extends DialogProps {
  action: string
  mutation: { isPending: boolean; error: Error | null; mutate: () => void }
}

/** Asks before something that cannot be undone. */
export function Confirm({ mutation: { isPending, error, mutate }, ...rest }: ConfirmProps) {
  return <FormDialog {...rest} tone="danger" disabled={isPending} error={error} onSubmit={() => mutate()} />
}
