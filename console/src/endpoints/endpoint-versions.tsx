import { useMutation, useQuery } from '@tanstack/react-query'
import { useLocation } from 'wouter'
import { ApiError, api, at } from '../api/api.ts'
import { invalidate, queries, queryClient } from '../api/queries.ts'
import type { Endpoint } from '../api/shapes.ts'
import { ago } from '../ui/format.ts'
import { Failure, Loaded } from '../ui/states.tsx'
import { Table } from '../ui/table.tsx'
import { useAddress } from '../ui/use-address.ts'
import { SqlEditor } from './editor/sql-editor.tsx'
import { draftOf, type EndpointDraft, fieldChanges } from './endpoint-draft.ts'
import { BreakingDialog } from './save/breaking-dialog.tsx'

/** Every version, and what it changed. */
export function EndpointVersions({ saved }: { saved: Endpoint }) {
  const query = useQuery(queries.versions(saved.name))
  return (
    <Loaded query={query} what="the versions" height={360}>
      {(versions) => <Versions saved={saved} versions={versions} />}
    </Loaded>
  )
}

function Versions({ saved, versions }: { saved: Endpoint; versions: readonly Endpoint[] }) {
  const [address, setAddress] = useAddress()
  const [, navigate] = useLocation()
  const chosen = Number(address.get('_shown') ?? saved.version)
  const shown = versions.find(({ version }) => version === chosen) ?? versions[0]
  const before = versions.find(({ version }) => version === (shown?.version ?? 0) - 1)
  const restore = useMutation({
    mutationFn: ({ version, breaking = false }: { version: number; breaking?: boolean }) =>
      api<Endpoint>(
        `/api/endpoints/${saved.id}/versions/${version}/restore${breaking ? '?breaking=true' : ''}`,
        {
          method: 'POST',
          headers: { 'If-Match': `"${saved.version}"` },
        },
      ),
    onError: () => queryClient.invalidateQueries({ queryKey: ['endpoints', saved.name] }),
    onSuccess: (restored) => {
      setAddress({ _shown: undefined }, 'replace')
      queryClient.setQueryData(queries.endpoint(restored.name).queryKey, restored)
      // The version may be from before a rename.
      if (restored.name !== saved.name) {
        navigate(`/console/endpoints/${at(restored.name)}${location.search}`, { replace: true })
      }
      invalidate('endpoints', 'whoami')
    },
  })
  const changes = restore.error instanceof ApiError ? restore.error.changes : undefined
  if (!shown) return null
  return (
    <div className="versions">
      <div className="version-list" role="group" aria-label="Versions">
        {versions.map(({ version, updated_at, updated_by, note }) => (
          <button
            key={version}
            type="button"
            aria-pressed={version === shown.version}
            onClick={() => setAddress({ _shown: String(version) }, 'replace')}
          >
            <b>Version {version}</b>
            <br />
            <span className="faint" title={updated_at}>
              {ago(updated_at)} by {updated_by.length > 12 ? `${updated_by.slice(0, 8)}…` : updated_by}
            </span>
            {note && <span className="version-text">{note}</span>}
          </button>
        ))}
      </div>
      <div className="stack">
        <div className="tabs-line">
          <h2>{before ? `Changes in version ${shown.version}` : `Version ${shown.version}`}</h2>
          <button
            type="button"
            className="button"
            disabled={shown.version === saved.version || restore.isPending}
            onClick={() => restore.mutate({ version: shown.version })}
          >
            {shown.version === saved.version ? 'Current version' : `Restore version ${shown.version}`}
          </button>
        </div>
        {restore.error && !changes && <Failure error={restore.error} />}
        {changes && (
          <BreakingDialog
            changes={changes}
            action="Restore anyway"
            isPending={restore.isPending}
            onConfirm={() => restore.mutate({ version: shown.version, breaking: true })}
            onClose={restore.reset}
          />
        )}
        {before && <FieldChanges before={draftOf(before)} after={draftOf(shown)} />}
        <SqlEditor
          key={shown.version}
          label={`SQL of version ${shown.version}, compared with the previous version`}
          height={340}
          value={shown.query}
          {...(before && { original: before.query })}
        />
      </div>
    </div>
  )
}

/** The differences between two versions, except for their SQL. */
export function FieldChanges({ before, after }: { before: EndpointDraft; after: EndpointDraft }) {
  const changes = fieldChanges(before, after)
  if (changes.length === 0) return null
  const shown = (text: string | undefined) =>
    text || <span className="faint">{text === '' ? 'empty' : 'not set'}</span>
  return (
    <Table label="Changed fields" columns={[['Field'], ['Before'], ['After']]}>
      {changes.map((change) => (
        <tr key={change.field}>
          <td className="mono">{change.field}</td>
          <td className="mono">{shown(change.before)}</td>
          <td className="mono">{shown(change.after)}</td>
        </tr>
      ))}
    </Table>
  )
}
