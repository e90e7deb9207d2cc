import { type ReactNode, useId, useLayoutEffect, useRef } from 'react'
import { Failure } from './states.tsx'

interface DialogProps {
  title: string
  /** For tables. */
  isWide?: boolean
  onClose: () => void
  children: ReactNode
}

/** Blocks the page behind it. Escape closes it. */
export function Dialog({ title, isWide = false, onClose, children }: DialogProps) {
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
      </div>
    </dialog>
  )
}

interface DialogFormProps {
  action: string
  tone?: 'primary' | 'danger'
  disabled?: boolean
  error?: Error | null
  onSubmit: () => void
  onClose: () => void
  children: ReactNode
}

export function DialogForm(props: DialogFormProps) {
  const { action, tone = 'primary', disabled = false, error, onSubmit, onClose, children } = props
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault()
        onSubmit()
      }}
    >
      {children}
      {error && <Failure error={error} />}
      <div className="dialog-foot">
        <button type="button" className="button" onClick={onClose}>
          Cancel
        </button>
        <button type="submit" className={`button ${tone}`} disabled={disabled}>
          {action}
        </button>
      </div>
    </form>
  )
}

interface ConfirmProps extends DialogProps {
  action: string
  mutation: { isPending: boolean; error: Error | null; mutate: () => void }
}

/** Asks before something that cannot be undone. */
export function Confirm({ title, onClose, children, action, mutation }: ConfirmProps) {
  const { isPending, error, mutate } = mutation
  return (
    <Dialog title={title} onClose={onClose}>
      <DialogForm
        action={action}
        tone="danger"
        disabled={isPending}
        error={error}
        onSubmit={() => mutate()}
        onClose={onClose}
      >
        {children}
      </DialogForm>
    </Dialog>
  )
}
