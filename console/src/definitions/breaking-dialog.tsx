import type { UseMutationResult } from '@tanstack/react-query'
import { type ComponentProps, useState } from 'react'
import type { ContractChange } from '../api/shapes.ts'
import { FormDialog } from '../ui/dialog.tsx'
import { breakingChanges } from './requests.ts'

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

interface ChangeDialogProps<T> extends Omit<ComponentProps<typeof FormDialog>, 'onSubmit' | 'error'> {
  /** Its variable is whether the change may break callers. */
  mutation: UseMutationResult<T, Error, boolean>
  /** What to do in any case: `Rename anyway`. */
  anyway: string
}

/** A form that asks before its change breaks callers. */
export function ChangeDialog<T>({ mutation, anyway, disabled = false, ...form }: ChangeDialogProps<T>) {
  const [changes, setChanges] = useState<readonly ContractChange[]>()
  const { mutate, isPending, error, reset } = mutation
  if (changes) {
    return (
      <BreakingDialog
        changes={changes}
        action={anyway}
        isPending={isPending}
        error={breakingChanges(error) ? null : error}
        onConfirm={() => mutate(true)}
        onClose={() => {
          setChanges(undefined)
          reset()
        }}
      />
    )
  }
  const onError = (refused: Error) => setChanges(breakingChanges(refused))
  return (
    <FormDialog
      {...form}
      disabled={disabled || isPending}
      error={error}
      onSubmit={() => mutate(false, { onError })}
    />
  )
}
