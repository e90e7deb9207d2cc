import { useMutation } from '@tanstack/react-query'
import { useEffect, useId, useState } from 'react'
import { useLocation } from 'wouter'
import { api, at } from '../api/api.ts'
import { invalidate, queries, queryClient } from '../api/queries.ts'
import type { Endpoint } from '../api/shapes.ts'
import { Confirm, Dialog, DialogForm } from '../ui/dialog.tsx'
import type { EndpointDraft } from './endpoint-draft.ts'
import { Menu } from './menu.tsx'
import { NewDraftButton } from './new-draft-button.tsx'
import { BreakingDialog } from './save/breaking-dialog.tsx'
import { RenameDialog } from './save/rename-dialog.tsx'
import { ReplayDialog } from './save/replay-dialog.tsx'
import { useSave } from './save/use-save.ts'

interface EndpointActionsProps {
  draft: EndpointDraft
  saved: Endpoint | undefined
  values: Record<string, string>
  isChanged: boolean
  hasProblem: boolean
  hasWrongName: boolean
  /** Whether a newer version was saved, and the user has not resolved the conflict. */
  isBehind: boolean
  onSaved: (saved: Endpoint) => void
  onDiscard: () => void
}

export function EndpointActions(props: EndpointActionsProps) {
  const { draft, saved, values, isChanged, isBehind, onSaved, onDiscard } = props
  const [, navigate] = useLocation()
  const [dialog, setDialog] = useState<'rename' | 'delete'>()
  const [versionNote, setVersionNote] = useState('')
  const reasonId = useId()
  const finish = (created: Endpoint) => {
    onSaved(created)
    setVersionNote('')
    setDialog(undefined)
    queryClient.setQueryData(queries.endpoint(created.name).queryKey, created)
    invalidate('endpoints', 'whoami')
    if (created.name !== saved?.name) {
      navigate(`/console/endpoints/${at(created.name)}${location.search}`, { replace: saved === undefined })
    }
  }
  const saving = useSave({ draft, saved, versionNote, onSaved: finish })
  const remove = useMutation({
    mutationFn: () => api(`/api/endpoints/${saved?.id}`, { method: 'DELETE' }),
    onSuccess: () => {
      queryClient.removeQueries({ queryKey: ['endpoints', saved?.name] })
      invalidate('endpoints', 'whoami')
      navigate('/console/endpoints')
    },
  })
  const { busy, error, question, note, cancel } = saving
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a new conflict matters
  useEffect(() => {
    // The conflict is shown instead of the error.
    if (isBehind) cancel()
  }, [isBehind])
  const isSavable = saved === undefined || isChanged
  const obstacle = isSavable ? obstacleOf(props) : ''
  return (
    <>
      {error && !question && (
        <span className="badge bad verdict" role="alert">
          {error.message}
        </span>
      )}
      <span className="faint" role="status">
        {busy === 'trying' ? 'Trying recent requests …' : note && !isChanged ? `Saved. ${note}` : ''}
      </span>
      {busy === 'trying' && !question && (
        <button type="button" className="button plain" onClick={() => saving.save()}>
          Save without trying
        </button>
      )}
      {isChanged && (
        <button type="button" className="button plain" onClick={onDiscard}>
          Discard changes
        </button>
      )}
      {saved && (
        <Menu label="More" className="plain">
          <NewDraftButton
            label="Duplicate"
            fields={{ ...draft, name: `${saved.name}-copy` }}
            values={values}
          />
          {!isChanged && (
            <button type="button" onClick={() => setDialog('rename')}>
              Rename
            </button>
          )}
          <button type="button" className="danger" onClick={() => setDialog('delete')}>
            Delete
          </button>
        </Menu>
      )}
      {saved && isChanged && (
        <input
          className="input version-note"
          aria-label="Version note"
          placeholder="What changed? (optional)"
          maxLength={500}
          value={versionNote}
          onChange={(event) => setVersionNote(event.target.value)}
        />
      )}
      <span className="faint" id={reasonId}>
        {obstacle}
      </span>
      <button
        type="button"
        className="button primary"
        aria-describedby={reasonId}
        disabled={!isSavable || obstacle !== '' || busy !== undefined}
        onClick={saving.start}
      >
        {busy === 'saving' ? 'Saving …' : saved ? 'Save as new version' : 'Create endpoint'}
      </button>
      <SaveQuestions saving={saving} />
      {dialog === 'rename' && saved && (
        <RenameDialog saved={saved} onRenamed={finish} onClose={() => setDialog(undefined)} />
      )}
      {dialog === 'delete' && saved && (
        <Confirm
          title={`Delete ${saved.name}?`}
          action="Delete endpoint"
          mutation={remove}
          onClose={() => setDialog(undefined)}
        >
          <p>Requests to it return 404 from then on. All of its versions are deleted.</p>
        </Confirm>
      )}
    </>
  )
}

/** Why the draft cannot be saved; empty if it can. */
function obstacleOf({ draft, hasProblem, hasWrongName, isBehind }: EndpointActionsProps): string {
  if (draft.name === '') return 'Enter a name.'
  if (hasWrongName) return 'Correct the name.'
  if (draft.query.trim() === '') return 'Enter the SQL.'
  if (hasProblem) return 'Fix the error in the query.'
  return isBehind ? 'Resolve the conflict with the newer version.' : ''
}

function SaveQuestions({ saving }: { saving: ReturnType<typeof useSave> }) {
  const { busy, question, error, save, showValues, cancel } = saving
  const isPending = busy !== undefined
  switch (question?.kind) {
    case undefined:
      return null
    case 'replay':
      return (
        <ReplayDialog
          replay={question.replay}
          isPending={isPending}
          error={error}
          onSave={() => save()}
          onShowValues={showValues}
          onClose={cancel}
        />
      )
    case 'no-replay':
      return (
        <Dialog title="Recent requests were not tried" onClose={cancel}>
          <DialogForm
            action="Save as new version"
            disabled={isPending}
            error={error ?? question.failure}
            onSubmit={() => save()}
            onClose={cancel}
          >
            <p>It is unknown whether this change affects callers.</p>
          </DialogForm>
        </Dialog>
      )
    case 'breaking':
      return (
        <BreakingDialog
          changes={question.changes}
          action="Save anyway"
          isPending={isPending}
          error={error}
          onConfirm={() => save({ breaking: true })}
          onClose={cancel}
        />
      )
  }
}
