import { useEffect, useId, useState } from 'react'
import { useLocation } from 'wouter'
import { invalidate, queries, queryClient } from '../../api/queries.ts'
import type { Endpoint } from '../../api/shapes.ts'
import { useMayChange } from '../../api/use-may-change.ts'
import { BreakingDialog } from '../../definitions/breaking-dialog.tsx'
import { pageOf } from '../../definitions/definition.ts'
import { DeleteDialog } from '../../definitions/delete-dialog.tsx'
import { ReplayDialog } from '../../replay/replay-dialog.tsx'
import { Button, Menu } from '../../ui/button.tsx'
import { Confirm, FormDialog } from '../../ui/dialog.tsx'
import { endpointKind } from '../endpoint-draft.ts'
import { PublishDialog } from '../save/publish-dialog.tsx'
import { RenameDialog } from '../save/rename-dialog.tsx'
import { useSave } from '../save/use-save.ts'
import { hasUnsaved, startUnsaved } from '../unsaved/use-endpoint-draft.ts'
import type { Workbench } from './use-workbench.ts'

interface EndpointActionsProps {
  work: Workbench
  hasWrongName: boolean
}

/** Saves the draft, and what else can be done with an endpoint. */
export function EndpointActions(props: EndpointActionsProps) {
  const { complete: draft, base: saved, values, isChanged, isBehind, adopt, discard } = props.work
  const [, navigate] = useLocation()
  const [dialog, setDialog] = useState<'rename' | 'delete' | 'replace'>()
  const [versionNote, setVersionNote] = useState('')
  const reasonId = useId()
  const mayChange = useMayChange()
  const finish = (created: Endpoint) => {
    adopt(created)
    setVersionNote('')
    setDialog(undefined)
    queryClient.setQueryData(queries.endpoint(created.name).queryKey, created)
    invalidate('endpoints', 'whoami')
    if (created.name !== saved?.name) {
      const address = new URLSearchParams({
        ...Object.fromEntries(new URLSearchParams(location.search)),
        ...values,
      })
      navigate(`${pageOf(endpointKind, created.name)}?${address}`, { replace: saved === undefined })
    }
  }
  const duplicate = () => {
    startUnsaved({ ...draft, name: `${saved?.name}-copy` }, values)
    navigate('/console/new-endpoint')
  }
  const saving = useSave({ draft, saved, versionNote, onSaved: finish })
  const { busy, error, question, note, cancel } = saving
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a new conflict matters
  useEffect(() => {
    // The conflict is shown instead of the error.
    if (isBehind) cancel()
  }, [isBehind])
  const isSavable = saved === undefined || isChanged
  const obstacle = isSavable ? obstacleOf(props) : ''
  if (!mayChange) return <span className="faint">Your role can try changes, but not save them.</span>
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
        <Button look="plain" onClick={() => saving.save()}>
          Save without trying
        </Button>
      )}
      {isChanged && (
        <Button look="plain" onClick={discard}>
          Discard changes
        </Button>
      )}
      {saved && (
        <Menu label="More" className="plain">
          <button type="button" onClick={() => (hasUnsaved() ? setDialog('replace') : duplicate())}>
            Duplicate
          </button>
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
      <Button
        look="primary"
        aria-describedby={reasonId}
        disabled={!isSavable || obstacle !== '' || busy !== undefined}
        onClick={saving.start}
      >
        {busy === 'saving' ? 'Saving …' : saved ? 'Save as new version' : 'Create endpoint'}
      </Button>
      <SaveQuestions saving={saving} />
      {dialog === 'rename' && saved && (
        <RenameDialog saved={saved} onRenamed={finish} onClose={() => setDialog(undefined)} />
      )}
      {dialog === 'replace' && (
        <Confirm
          title="Replace the unsaved endpoint?"
          action="Replace"
          mutation={{ isPending: false, error: null, mutate: duplicate }}
          onClose={() => setDialog(undefined)}
        >
          <p>The page of new endpoints has unsaved changes. They will be replaced.</p>
        </Confirm>
      )}
      {dialog === 'delete' && saved && (
        <DeleteDialog kind={endpointKind} saved={saved} onClose={() => setDialog(undefined)}>
          <p>Requests to it return 404 from then on. All of its versions are deleted.</p>
        </DeleteDialog>
      )}
    </>
  )
}

/** Why the draft cannot be saved; empty if it can. */
function obstacleOf({ work, hasWrongName }: EndpointActionsProps): string {
  const { draft, isBlank, problem, isBehind } = work
  if (draft.name === '') return 'Enter a name.'
  if (hasWrongName) return 'Correct the name.'
  if (isBlank) return 'Enter the SQL.'
  if (problem) return 'Fix the error in the query.'
  return isBehind ? 'Resolve the conflict with the newer version.' : ''
}

function SaveQuestions({ saving }: { saving: ReturnType<typeof useSave> }) {
  const { busy, question, error, save, showValues, cancel } = saving
  const common = { isPending: busy !== undefined, error, onClose: cancel }
  switch (question?.kind) {
    case undefined:
      return null
    case 'replay':
      return (
        <ReplayDialog replay={question.replay} {...common} onSave={() => save()} onShowValues={showValues} />
      )
    case 'no-replay':
      return (
        <FormDialog
          title="Recent requests were not tried"
          action="Save as new version"
          disabled={common.isPending}
          error={error ?? question.failure}
          onSubmit={() => save()}
          onClose={cancel}
        >
          <p>It is unknown whether this change affects callers.</p>
        </FormDialog>
      )
    case 'publish':
      return <PublishDialog {...common} onChoose={(published) => save({ published })} />
    case 'breaking':
      return (
        <BreakingDialog
          changes={question.changes}
          action="Save anyway"
          {...common}
          onConfirm={() => save({ breaking: true })}
        />
      )
  }
}
