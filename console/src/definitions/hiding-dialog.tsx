import { useState } from 'react'
import type { ContractChange } from '../api/shapes.ts'
import { FormDialog } from '../ui/dialog.tsx'
import { TextField } from '../ui/fields.tsx'

interface HidingDialogProps {
  /** What to type. */
  name: string
  changes: readonly ContractChange[]
  action: string
  isPending: boolean
  error: Error | null
  onConfirm: () => void
  onClose: () => void
}

/** Says which entries would no longer be visible, and asks for a name. */
export function HidingDialog({
  name,
  changes,
  action,
  isPending,
  error,
  onConfirm,
  onClose,
}: HidingDialogProps) {
  const [typed, setTyped] = useState('')
  return (
    <FormDialog
      title="This change hides entries"
      action={action}
      tone="danger"
      disabled={typed !== name || isPending}
      error={error}
      onSubmit={onConfirm}
      onClose={onClose}
    >
      <ul className="warnings">
        {changes.map(({ kind, message }) => (
          <li key={`${kind} ${message}`}>{message}</li>
        ))}
      </ul>
      <TextField label={`Type ${name} to confirm`} value={typed} onChange={setTyped} autoComplete="off" />
    </FormDialog>
  )
}
