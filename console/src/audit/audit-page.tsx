import { useQuery } from '@tanstack/react-query'
import { useDeferredValue, useState } from 'react'
import { queries } from '../api/queries.ts'
import type { AuditEntry } from '../api/shapes.ts'
import { FieldChanges } from '../definitions/field-changes.tsx'
import { SqlEditor } from '../query/editor/sql-editor.tsx'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { SearchInput } from '../ui/search.tsx'
import { Empty, Loaded } from '../ui/states.tsx'
import { Table } from '../ui/table.tsx'
import { showInstant, useZone } from '../ui/text/instants.ts'
import { useAddress } from '../ui/use-address.ts'
import { versionedKind } from './versioned-kinds.ts'

/** Who did what. The entries are those of a source, so everything else can be asked on the logs page. */
export default function AuditPage() {
  const [address, setAddress] = useAddress()
  const search = address.get('q') ?? ''
  const query = useQuery(queries.audit(useDeferredValue(search)))
  const [shown, setShown] = useState<AuditEntry>()
  const zone = useZone()
  return (
    <div className="page">
      <PageHead title="Audit">
        <p>
          Who changed what, and who signed in. The entries are those of the source{' '}
          <a href="/console/logs?source=audit_events">audit_events</a>.
        </p>
      </PageHead>
      <div className="list-tools">
        <SearchInput
          label="Search the audit"
          placeholder="A name, or action:endpoint.update"
          value={search}
          onChange={(q) => setAddress({ q }, 'replace')}
        />
      </div>
      <Loaded query={query} what="the audit" height={360}>
        {(entries) =>
          entries.length === 0 ? (
            <Empty title="Nothing found">The newest 200 entries that match are shown.</Empty>
          ) : (
            <Table
              label="Audit"
              columns={[['When'], ['Who'], ['What'], ['Target'], ['Note', 'optional'], ['From', 'optional']]}
            >
              {entries.map((entry) => {
                const { actor, action, target, version, note, address: from } = entry.metadata
                return (
                  <tr key={entry.id}>
                    <td className="nowrap">{showInstant(entry.timestamp / 1000, zone, 'seconds')}</td>
                    <td>{actor.name || actor.id || 'unknown'}</td>
                    <td className="mono">{action}</td>
                    <td>
                      {versionedKind(action) ? (
                        <Button look="small" onClick={() => setShown(entry)}>
                          {target} version {version}
                        </Button>
                      ) : (
                        target
                      )}
                    </td>
                    <td className="optional">{note}</td>
                    <td className="optional mono">{from}</td>
                  </tr>
                )
              })}
            </Table>
          )
        }
      </Loaded>
      {shown && <Difference entry={shown} onClose={() => setShown(undefined)} />}
    </div>
  )
}

const readOnly = ['version', 'created_at', 'updated_at', 'updated_by', 'updated_by_name', 'note']

function Difference({ entry, onClose }: { entry: AuditEntry; onClose: () => void }) {
  const { action, target, target_id: id = '', version = 0, actor } = entry.metadata
  const [folder = '', sql] = versionedKind(action) ?? []
  const query = useQuery(queries.versionsById(folder, id))
  return (
    <Dialog
      title={`${target}, version ${version} by ${actor.name || actor.id}`}
      onClose={onClose}
      isWide
      close="Close"
    >
      <Loaded query={query} what="the versions" height={240}>
        {(versions) => {
          const [after, before] = [version, version - 1].map((number) => fieldsOf(folder, versions, number))
          if (!after) return <p className="soft">This version is no longer stored.</p>
          return (
            <div className="stack">
              <FieldChanges before={before ?? {}} after={after} sql={sql} />
              {sql && (
                <SqlEditor
                  label={`SQL of version ${version}, compared with the previous version`}
                  height={260}
                  value={String(after[sql])}
                  {...(before && { original: String(before[sql]) })}
                />
              )}
            </div>
          )
        }}
      </Loaded>
    </Dialog>
  )
}

function fieldsOf(folder: string, versions: readonly { version: number }[], number: number) {
  const found = versions.find(({ version }) => version === number)
  if (!found) return undefined
  // Those of an endpoint follow from its SQL.
  const hidden = folder === 'endpoints' ? [...readOnly, 'columns'] : readOnly
  const fields = Object.entries(found).filter(([name]) => !hidden.includes(name))
  return Object.fromEntries(fields) as Record<string, unknown>
}
