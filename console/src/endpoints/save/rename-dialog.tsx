import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { queries } from '../../api/queries.ts'
import type { Endpoint } from '../../api/shapes.ts'
import { ChangeDialog } from '../../definitions/breaking-dialog.tsx'
import { changeDefinition } from '../../definitions/requests.ts'
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
  const rename = useMutation({
    mutationFn: (breaking: boolean) =>
      changeDefinition(endpointKind, saved, { name }, breaking ? { breaking: 'true' } : {}),
    onSuccess: onRenamed,
  })
  return (
    <ChangeDialog
      title={`Rename ${saved.name}`}
      action="Rename"
      anyway="Rename anyway"
      disabled={name === '' || name === saved.name || problem !== ''}
      mutation={rename}
      onClose={onClose}
    >
      <TextField
        label="New name"
        note="Part of the URL."
        problem={problem}
        value={name}
        onChange={(text) => setName(text.trim())}
      />
    </ChangeDialog>
  )
}
