import { useMutation } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { useLocation } from 'wouter'
import { ApiError, api, at } from '../api/api.ts'
import type { Endpoint } from '../api/api-types.ts'
import { queries, queryClient } from '../api/queries.ts'
import { Confirm } from '../ui/dialog.tsx'
import type { EndpointDraft } from './endpoint-draft.ts'

export interface EndpointActionsProps {
  draft: EndpointDraft
  saved: Endpoint | undefined
  isChanged: boolean
  hasProblem: boolean
  /** Whether a newer version is in use, and the writer has not said what to do about it. */
  isBehind: boolean
  onSaved: (made: Endpoint) => void
  onDiscard: () => void
}

/** Saving and deleting. What is shown as saved is what the service answered. */
export function EndpointActions(props: EndpointActionsProps) {
  const { draft, saved, isChanged, hasProblem, isBehind, onSaved, onDiscard } = props
  const [, navigate] = useLocation()
  const [asking, setAsking] = useState(false)
  const save = useMutation({
    mutationFn: () =>
      saved
        ? api<Endpoint>(`/api/endpoints/${saved.id}`, {
            method: 'PATCH',
            body: draft,
            headers: { 'If-Match': `"${saved.version}"` },
          })
        : api<Endpoint>('/api/endpoints', { body: draft }),
    // Whoever was faster is shown, with ways on.
    onError: (error) => {
      if (saved && error instanceof ApiError && error.status === 412) {
        queryClient.invalidateQueries({ queryKey: ['endpoints', saved.name] })
      }
    },
    onSuccess: (made) => {
      onSaved(made)
      queryClient.setQueryData(queries.endpoint(made.name).queryKey, made)
      for (const key of ['endpoints', 'whoami']) queryClient.invalidateQueries({ queryKey: [key] })
      if (made.name !== saved?.name) {
        navigate(`/console/endpoints/${at(made.name)}${location.search}`, { replace: saved === undefined })
      }
    },
  })
  const remove = useMutation({
    mutationFn: () => api(`/api/endpoints/${saved?.id}`, { method: 'DELETE' }),
    onSuccess: () => {
      queryClient.removeQueries({ queryKey: ['endpoints', saved?.name] })
      for (const key of ['endpoints', 'whoami']) queryClient.invalidateQueries({ queryKey: [key] })
      navigate('/console/endpoints')
    },
  })
  const { reset } = save
  useEffect(() => {
    // The newer version is shown by then, which says more.
    if (isBehind) reset()
  }, [isBehind, reset])
  const canSave =
    (saved === undefined || isChanged) && draft.name !== '' && !hasProblem && !isBehind && !save.isPending
  const failure = save.error ?? remove.error
  return (
    <>
      {failure && (
        <span className="badge bad" role="alert">
          {failure.message}
        </span>
      )}
      {isChanged && (
        <button type="button" className="button plain" onClick={onDiscard}>
          Discard changes
        </button>
      )}
      {saved && (
        <button type="button" className="button plain danger" onClick={() => setAsking(true)}>
          Delete
        </button>
      )}
      <button type="button" className="button primary" disabled={!canSave} onClick={() => save.mutate()}>
        {save.isPending ? 'Saving …' : saved ? 'Save as new version' : 'Create endpoint'}
      </button>
      {asking && saved && (
        <Confirm
          title={`Delete ${saved.name}?`}
          action="Delete the endpoint"
          busy={remove.isPending}
          onConfirm={() => remove.mutate()}
          onClose={() => setAsking(false)}
        >
          <p>Its callers are answered with 404 from then on. All of its versions go with it.</p>
        </Confirm>
      )}
    </>
  )
}
