import type { Endpoint } from '../api/shapes.ts'
import { SqlEditor } from './editor/sql-editor.tsx'
import { draftOf, type EndpointDraft } from './endpoint-draft.ts'
import { FieldChanges } from './endpoint-versions.tsx'

interface EndpointConflictProps {
  draft: EndpointDraft
  base: Endpoint
  /** The current version, which is newer than the base of the draft. */
  saved: Endpoint
  onRebase: () => void
  onDiscard: () => void
}

/** Somebody else saved a version while the user was editing. */
export function EndpointConflict({ draft, base, saved, onRebase, onDiscard }: EndpointConflictProps) {
  const { version } = saved
  return (
    <section className="note-box warn stack" aria-label="Newer version">
      <p role="alert">
        Version {version} was saved while you edited version {base.version}. Apply your changes to version{' '}
        {version} to save them. Fields that you did not change keep their values from version {version}.
      </p>
      <div className="actions">
        <button type="button" className="button" onClick={onRebase}>
          Apply my changes to version {version}
        </button>
        <button type="button" className="button" onClick={onDiscard}>
          Discard my changes
        </button>
      </div>
      <div className="stack conflict">
        <h2>Your changes compared with version {version}</h2>
        <FieldChanges before={draftOf(saved)} after={draft} />
        {draft.query !== saved.query && (
          <SqlEditor
            key={version}
            label={`Your SQL, compared with version ${version}`}
            height={100}
            value={draft.query}
            original={saved.query}
          />
        )}
      </div>
    </section>
  )
}
