import { type ReactNode, useId, useLayoutEffect, useRef } from 'react'

/** Over the page, which cannot be reached meanwhile. Escape closes it. */
export function Dialog({
  title,
  onClose,
  children,
}: {
  title: string
  onClose: () => void
  children: ReactNode
}) {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  // A layout effect ends before the element is gone: closing it gives the focus back.
  useLayoutEffect(() => {
    const element = dialog.current as HTMLDialogElement
    element.showModal()
    return () => element.close()
  }, [])
  return (
    <dialog
      ref={dialog}
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

/** Asks before something that cannot be taken back. */
export function Confirm({
  title,
  children,
  action,
  busy,
  onConfirm,
  onClose,
}: {
  title: string
  children: ReactNode
  action: string
  busy: boolean
  onConfirm: () => void
  onClose: () => void
}) {
  return (
    <Dialog title={title} onClose={onClose}>
      {children}
      <div className="dialog-foot">
        <button type="button" className="button" onClick={onClose}>
          Cancel
        </button>
        <button type="button" className="button danger" disabled={busy} onClick={onConfirm}>
          {action}
        </button>
      </div>
    </Dialog>
  )
}
