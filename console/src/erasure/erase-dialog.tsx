import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../api/api.ts'
import { invalidate } from '../api/queries.ts'
import type { Erasure } from '../api/shapes.ts'
import { Dialog, FormDialog } from '../ui/dialog.tsx'
import { TextField } from '../ui/fields.tsx'
import { Loaded } from '../ui/states.tsx'
import { counted } from '../ui/text/format.ts'

interface EraseDialogProps {
  project: string
  onClose: () => void
}

/** Shows how many entries there are, and asks for the project's name. */
export function EraseDialog({ project, onClose }: EraseDialogProps) {
  const [typed, setTyped] = useState('')
  const preview = useQuery({
    queryKey: ['erasures', 'preview', project],
    queryFn: ({ signal }) => api<Erasure>('/api/erasures', { body: { project, dry_run: true }, signal }),
    staleTime: 0,
    gcTime: 0,
  })
  const erase = useMutation({
    mutationFn: () => api<Erasure>('/api/erasures', { body: { project } }),
    onSuccess: () => invalidate('projects', 'sources', 'usage'),
  })
  if (erase.data) return <Progress erasure={erase.data} onClose={onClose} />
  return (
    <FormDialog
      title={`Erase all entries of ${project}?`}
      action="Erase"
      tone="danger"
      disabled={typed !== project || erase.isPending || !preview.data}
      error={erase.error}
      onSubmit={() => erase.mutate()}
      onClose={onClose}
    >
      <Loaded query={preview} what="the number of entries" height={48}>
        {({ entries }) => (
          <p role="status">
            <b>{counted(entries, 'entry', 'entries')}</b> will be erased from all sources, caches and the
            quarantine. This cannot be undone. Backups still contain them.
          </p>
        )}
      </Loaded>
      <TextField label={`Type ${project} to confirm`} value={typed} onChange={setTyped} autoComplete="off" />
    </FormDialog>
  )
}

function Progress({ erasure, onClose }: { erasure: Erasure; onClose: () => void }) {
  const { data = erasure } = useQuery({
    queryKey: ['erasures', erasure.id],
    queryFn: ({ signal }) => api<Erasure>(`/api/erasures/${erasure.id}`, { signal }),
    refetchInterval: ({ state }) => (state.data?.state === 'done' ? false : 1_000),
  })
  const entries = counted(data.entries, 'entry', 'entries')
  return (
    <Dialog title={`Erasing ${data.project}`} close="Done" onClose={onClose}>
      <p role="status">
        {data.state === 'done'
          ? `${entries} erased. Backups from before ${data.backups_before} still contain them.`
          : `${entries} are hidden and being removed from the disk. This continues without this page.`}
      </p>
    </Dialog>
  )
}
