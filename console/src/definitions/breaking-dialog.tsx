import type { ContractChange } from '../api/shapes.ts'
import { FormDialog } from '../ui/dialog.tsx'

interface BreakingDialogProps {
  changes: readonly ContractChange[]
  action: string
  isPending: boolean
  error?: Error | null | undefined
  onConfirm: () => void
  onClose: () => void
}

/** Asks before a change that breaks callers. */
export function BreakingDialog(props: BreakingDialogProps) {
  const { changes, action, isPending, error, onConfirm, onClose } = props
  return (
    <FormDialog
      title="This change breaks callers"
      action={action}
      tone="danger"
      disabled={isPending}
      error={error ?? null}
      onSubmit={onConfirm}
      onClose={onClose}
    >
      <p>Callers of the current version may fail or get different results:</p>
      <ul className="warnings">
        {changes.map(({ kind, message }) => (
          <li key={`${kind} ${message}`}>{message}</li>
        ))}
      </ul>
    </FormDialog>
  )
}
