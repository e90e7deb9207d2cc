import { useMutation } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { useLocation } from 'wouter'
import { ApiError } from '../api/api.ts'
import { invalidate, queryClient } from '../api/queries.ts'
import type { ContractChange } from '../api/shapes.ts'
import { Confirm } from '../ui/dialog.tsx'
import type { Definition } from './definition.ts'
import { HidingDialog } from './hiding-dialog.tsx'
import { breakingChanges, deleteDefinition } from './requests.ts'

interface DeleteDialogProps {
  /** `page` is the page of the list, if it has another name. */
  kind: { path: string; one: string; page?: string }
  saved: Definition
  onClose: () => void
  /** What deleting means. */
  children: ReactNode
}

/** Deletes a definition, or lists what uses it. Asks again if that hides entries. */
export function DeleteDialog({ kind, saved, onClose, children }: DeleteDialogProps) {
  const [, navigate] = useLocation()
  const [changes, setChanges] = useState<readonly ContractChange[]>()
  const remove = useMutation({
    mutationFn: (breaking: boolean) => deleteDefinition(kind, saved, breaking),
    onError: (error) => setChanges(breakingChanges(error)),
    onSuccess: () => {
      queryClient.removeQueries({ queryKey: [kind.path, saved.name] })
      invalidate(kind.path, 'whoami')
      onClose()
      navigate(`/console/${kind.page ?? kind.path}`)
    },
  })
  const users = (remove.error instanceof ApiError && remove.error.users) || []
  if (changes) {
    return (
      <HidingDialog
        name={saved.name}
        changes={changes}
        action={`Delete ${kind.one}`}
        isPending={remove.isPending}
        error={breakingChanges(remove.error) ? null : remove.error}
        onConfirm={() => remove.mutate(true)}
        onClose={onClose}
      />
    )
  }
  return (
    <Confirm
      title={`Delete ${saved.name}?`}
      action={`Delete ${kind.one}`}
      mutation={{ ...remove, mutate: () => remove.mutate(false) }}
      onClose={onClose}
    >
      {children}
      {users.length > 0 && (
        <div>
          <p>It is used by:</p>
          <ul className="warnings">
            {users.map((user) => (
              <li key={user} className="mono">
                {user}
              </li>
            ))}
          </ul>
        </div>
      )}
    </Confirm>
  )
}
