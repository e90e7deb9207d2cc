import { useMutation } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useLocation } from 'wouter'
import { ApiError } from '../api/api.ts'
import { invalidate, queryClient } from '../api/queries.ts'
import { Confirm } from '../ui/dialog.tsx'
import type { Definition } from './definition.ts'
import { deleteDefinition } from './requests.ts'

interface DeleteDialogProps {
  /** `page` is the page of the list, if it has another name. */
  kind: { path: string; one: string; page?: string }
  saved: Definition
  onClose: () => void
  /** What deleting means. */
  children: ReactNode
}

/** Deletes a definition, or lists what uses it. */
export function DeleteDialog({ kind, saved, onClose, children }: DeleteDialogProps) {
  const [, navigate] = useLocation()
  const remove = useMutation({
    mutationFn: () => deleteDefinition(kind, saved),
    onSuccess: () => {
      queryClient.removeQueries({ queryKey: [kind.path, saved.name] })
      invalidate(kind.path, 'whoami')
      onClose()
      navigate(`/console/${kind.page ?? kind.path}`)
    },
  })
  const users = (remove.error instanceof ApiError && remove.error.users) || []
  return (
    <Confirm
      title={`Delete ${saved.name}?`}
      action={`Delete ${kind.one}`}
      mutation={remove}
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
