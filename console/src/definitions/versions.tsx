import { useMutation, useQuery } from '@tanstack/react-query'
import { useLocation } from 'wouter'
import { invalidate, queries, queryClient } from '../api/queries.ts'
import { useMayChange } from '../api/use-may-change.ts'
import { SqlEditor } from '../query/editor/sql-editor.tsx'
import { Button } from '../ui/button.tsx'
import { Failure, Loaded } from '../ui/states.tsx'
import { ago } from '../ui/text/format.ts'
import { useAddress } from '../ui/use-address.ts'
import { BreakingDialog } from './breaking-dialog.tsx'
import { type Definition, type Kind, pageOf } from './definition.ts'
import { FieldChanges } from './field-changes.tsx'
import { HidingDialog } from './hiding-dialog.tsx'
import { breakingChanges, restoreVersion } from './requests.ts'

interface VersionsProps<T extends Definition, D extends object> {
  kind: Kind<T, D>
  saved: T
}

/** Every version, and what it changed. */
export function Versions<T extends Definition, D extends object>({ kind, saved }: VersionsProps<T, D>) {
  const query = useQuery(queries.versions<T>(kind.path, saved))
  return (
    <Loaded query={query} what="the versions" height={360}>
      {(versions) => <VersionList kind={kind} saved={saved} versions={versions} />}
    </Loaded>
  )
}

function VersionList<T extends Definition, D extends object>(
  props: VersionsProps<T, D> & { versions: readonly T[] },
) {
  const { kind, saved, versions } = props
  const [address, setAddress] = useAddress()
  const [, navigate] = useLocation()
  const mayChange = useMayChange(kind.path)
  const chosen = Number(address.get('_shown') ?? saved.version)
  const shown = versions.find(({ version }) => version === chosen) ?? versions[0]
  const before = versions.find(({ version }) => version === (shown?.version ?? 0) - 1)
  const restore = useMutation({
    mutationFn: ({ version, breaking = false }: { version: number; breaking?: boolean }) =>
      restoreVersion(kind, saved, version, breaking),
    onError: () => queryClient.invalidateQueries({ queryKey: [kind.path, saved.name] }),
    onSuccess: ({ name }) => {
      setAddress({ _shown: undefined }, 'replace')
      // The version may be from before a rename.
      if (name !== saved.name) navigate(`${pageOf(kind, name)}${location.search}`, { replace: true })
      invalidate(kind.path, 'whoami')
    },
    // The response may contain secrets, which must not be cached.
    gcTime: 0,
  })
  const changes = breakingChanges(restore.error)
  if (!shown) return null
  const { sql } = kind
  const fieldsOf = (version: T) => ({ ...kind.draftOf(version), ...kind.besides?.(version) })
  const [older, newer] = [before && fieldsOf(before), fieldsOf(shown)]
  return (
    <div className="versions">
      <div className="version-list" role="group" aria-label="Versions">
        {versions.map(({ version, updated_at, updated_by, updated_by_name, note }) => (
          <button
            key={version}
            type="button"
            aria-pressed={version === shown.version}
            onClick={() => setAddress({ _shown: String(version) }, 'replace')}
          >
            <b>Version {version}</b>
            <br />
            <span className="faint" title={updated_at}>
              {ago(updated_at)} by {updated_by_name ?? updated_by.slice(0, 8)}
            </span>
            {note && <span className="version-text">{note}</span>}
          </button>
        ))}
      </div>
      <div className="stack">
        <div className="tabs-line">
          <h2>{before ? `Changes in version ${shown.version}` : `Version ${shown.version}`}</h2>
          {mayChange && (
            <Button
              disabled={shown.version === saved.version || restore.isPending}
              onClick={() => restore.mutate({ version: shown.version })}
            >
              {shown.version === saved.version ? 'Current version' : `Restore version ${shown.version}`}
            </Button>
          )}
        </div>
        {restore.error && !changes && <Failure error={restore.error} />}
        {changes?.some(({ entries }) => entries !== undefined) && (
          <HidingDialog
            name={saved.name}
            changes={changes}
            action="Restore anyway"
            isPending={restore.isPending}
            error={null}
            onConfirm={() => restore.mutate({ version: shown.version, breaking: true })}
            onClose={restore.reset}
          />
        )}
        {changes?.every(({ entries }) => entries === undefined) && (
          <BreakingDialog
            changes={changes}
            action="Restore anyway"
            isPending={restore.isPending}
            onConfirm={() => restore.mutate({ version: shown.version, breaking: true })}
            onClose={restore.reset}
          />
        )}
        {(older || !sql) && <FieldChanges before={older ?? {}} after={newer} sql={sql} />}
        {sql && (
          <SqlEditor
            key={shown.version}
            label={`SQL of version ${shown.version}, compared with the previous version`}
            height={340}
            value={String(newer[sql])}
            {...(older && { original: String(older[sql]) })}
          />
        )}
      </div>
    </div>
  )
}
