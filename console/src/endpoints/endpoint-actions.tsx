import { useMutation } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { useLocation } from 'wouter'
import { ApiError, api, at } from '../api/api.ts'
import { invalidate, queries, queryClient } from '../api/queries.ts'
import type { Endpoint } from '../api/shapes.ts'
import { Confirm } from '../ui/dialog.tsx'
import type { EndpointDraft } from './endpoint-draft.ts'

interface EndpointActionsProps {
  draft: EndpointDraft
  saved: Endpoint | undefined
  isChanged: boolean
  hasProblem: boolean
  /** Whether a newer version was saved, and the user has not resolved the conflict. */
  isBehind: boolean
  onSaved: (saved: Endpoint) => void
  onDiscard: () => void
}

export function EndpointActions(props: EndpointActionsProps) {
  const { draft, saved, isChanged, hasProblem, isBehind, onSaved, onDiscard } = props
  const [, navigate] = useLocation()
  const [deleting, setDeleting] = useState(false)
  const save = useMutation({
    mutationFn: () =>
      saved
        ? api<Endpoint>(`/api/endpoints/${saved.id}?breaking=true`, {
            method: 'PATCH',
            body: draft,
            headers: { 'If-Match': `"${saved.version}"` },
          })
        : api<Endpoint>('/api/endpoints', { body: draft }),
    // Fetches the newer version, which shows the conflict.
    onError: (error) => {
      if (saved && error instanceof ApiError && error.status === 412) {
        queryClient.invalidateQueries({ queryKey: ['endpoints', saved.name] })
      }
    },
    onSuccess: (created) => {
      onSaved(created)
      queryClient.setQueryData(queries.endpoint(created.name).queryKey, created)
      invalidate('endpoints', 'whoami')
      if (created.name !== saved?.name) {
        navigate(`/console/endpoints/${at(created.name)}${location.search}`, { replace: saved === undefined })
      }
    },
  })
  const remove = useMutation({
    mutationFn: () => api(`/api/endpoints/${saved?.id}`, { method: 'DELETE' }),
    onSuccess: () => {
      queryClient.removeQueries({ queryKey: ['endpoints', saved?.name] })
      invalidate('endpoints', 'whoami')
      navigate('/console/endpoints')
    },
  })
  const { reset } = save
  useEffect(() => {
    // The conflict is shown instead of the error.
    if (isBehind) reset()
  }, [isBehind, reset])
  const canSave =
    (saved === undefined || isChanged) && draft.name !== '' && !hasProblem && !isBehind && !save.isPending
  return (
    <>
      {save.error && (
        <span className="badge bad" role="alert">
          {save.error.message}
        </span>
      )}
      {isChanged && (
        <button type="button" className="button plain" onClick={onDiscard}>
          Discard changes
        </button>
      )}
      {saved && (
        <button type="button" className="button plain danger" onClick={() => setDeleting(true)}>
          Delete
        </button>
      )}
      <button type="button" className="button primary" disabled={!canSave} onClick={() => save.mutate()}>
        {save.isPending ? 'Saving …' : saved ? 'Save as new version' : 'Create endpoint'}
      </button>
      {deleting && saved && (
        <Confirm
          title={`Delete ${saved.name}?`}
          action="Delete endpoint"
          mutation={remove}
          onClose={() => setDeleting(false)}
        >
          <p>Requests to it return 404 from then on. All of its versions are deleted.</p>
        </Confirm>
      )}
    </>
  )
}
