import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { queries } from '../../api/queries.ts'
import type { ContractChange, Endpoint } from '../../api/shapes.ts'
import { BreakingDialog } from '../../definitions/breaking-dialog.tsx'
import { breakingChanges, changeDefinition } from '../../definitions/requests.ts'
import { FormDialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/fields.tsx'
import { nameProblem } from '../../ui/text/names.ts'
import { endpointKind } from '../endpoint-draft.ts'

interface RenameDialogProps {
  saved: Endpoint
  onRenamed: (renamed: Endpoint) => void
  onClose: () => void
}

/** Saves a version with another name, and asks before it breaks callers. */
export function RenameDialog({ saved, onRenamed, onClose }: RenameDialogProps) {
  const [name, setName] = useState(saved.name)
  const { data: others } = useQuery(queries.endpoints())
  const problem = name === saved.name ? '' : nameProblem('endpoint', name, others)
  const [changes, setChanges] = useState<readonly ContractChange[]>()
  const { mutate, isPending, error } = useMutation({
    mutationFn: (breaking: boolean) =>
      changeDefinition(endpointKind, saved, { name }, breaking ? { breaking: 'true' } : {}),
    onSuccess: onRenamed,
    onError: (refused) => setChanges(breakingChanges(refused)),
  })
  if (changes) {
    return (
      <BreakingDialog
        changes={changes}
        action="Rename anyway"
        isPending={isPending}
        onConfirm={() => mutate(true)}
        onClose={onClose}
      />
    )
  }
  return (
    <FormDialog
      title={`Rename ${saved.name}`}
      action="Rename"
      disabled={isPending || name === '' || name === saved.name || problem !== ''}
      error={error}
      onSubmit={() => mutate(false)}
      onClose={onClose}
    >
      <TextField
        label="New name"
        note="Part of the URL."
        problem={problem}
        value={name}
        onChange={(text) => setName(text.trim())}
      />
    </FormDialog>
  )
}
