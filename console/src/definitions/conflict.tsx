import { SqlEditor } from '../query/editor/sql-editor.tsx'
import { Button } from '../ui/button.tsx'
import { type Definition, type Kind, rebased } from './definition.ts'
import { FieldChanges } from './field-changes.tsx'

interface ConflictProps<T extends Definition, D extends object> {
  kind: Kind<T, D>
  draft: D
  base: T
  /** The current version, which is newer than the base of the draft. */
  saved: T
  onRebase: () => void
  onDiscard: () => void
}

/** Somebody else saved a version while the user was editing. */
export function Conflict<T extends Definition, D extends object>(props: ConflictProps<T, D>) {
  const { kind, draft, base, saved, onRebase, onDiscard } = props
  const { sql } = kind
  const { version } = saved
  const newer = kind.draftOf(saved)
  const mine = rebased(draft, kind.draftOf(base), newer)
  return (
    <section className="note-box warn stack" aria-label="Newer version">
      <p role="alert">
        Version {version} was saved while you edited version {base.version}. Apply your changes to version{' '}
        {version} to save them. Fields that you did not change keep their values from version {version}.
      </p>
      <div className="actions">
        <Button onClick={onRebase}>Apply my changes to version {version}</Button>
        <Button onClick={onDiscard}>Discard my changes</Button>
      </div>
      <div className="stack conflict">
        <h2>Your changes compared with version {version}</h2>
        <FieldChanges before={newer} after={mine} sql={sql} />
        {sql && mine[sql] !== newer[sql] && (
          <SqlEditor
            key={version}
            label={`Your SQL, compared with version ${version}`}
            height={100}
            value={String(mine[sql])}
            original={String(newer[sql])}
          />
        )}
      </div>
    </section>
  )
}
