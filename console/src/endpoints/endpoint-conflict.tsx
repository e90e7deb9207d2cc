import type { Endpoint } from '../api/api-types.ts'
import { SqlEditor } from './editor/sql-editor.tsx'
import { draftOf, type EndpointDraft } from './endpoint-draft.ts'
import { FieldChanges } from './field-changes.tsx'

export interface EndpointConflictProps {
  draft: EndpointDraft
  base: Endpoint
  /** The version in use, which is newer than the one that the draft was made from. */
  saved: Endpoint
  onMine: () => void
  onTheirs: () => void
}

/** The endpoint went on while somebody wrote: what differs, and the two ways on. */
export function EndpointConflict({ draft, base, saved, onMine, onTheirs }: EndpointConflictProps) {
  return (
    <section className="note-box warn stack" aria-label="A newer version">
      <p role="alert">
        Version {saved.version} is in use now, and what you write was made from version {base.version}. To
        save it, put it on top of version {saved.version}: fields that you did not change are then those of
        version {saved.version}.
      </p>
      <div className="actions">
        <button type="button" className="button" onClick={onMine}>
          Put mine on top of version {saved.version}
        </button>
        <button type="button" className="button" onClick={onTheirs}>
          Take version {saved.version}, drop mine
        </button>
      </div>
      <div className="stack conflict">
        <h2>What yours would change in version {saved.version}</h2>
        <FieldChanges before={draftOf(saved)} after={draft} />
        {draft.query !== saved.query && (
          <SqlEditor
            key={saved.version}
            label={`Your SQL, compared with version ${saved.version}`}
            height={100}
            value={draft.query}
            original={saved.query}
          />
        )}
      </div>
    </section>
  )
}
