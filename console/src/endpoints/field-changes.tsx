import { type EndpointDraft, fieldChanges } from './endpoint-draft.ts'

/** What two versions differ in, but for their SQL. */
export function FieldChanges({ before, after }: { before: EndpointDraft; after: EndpointDraft }) {
  const changes = fieldChanges(before, after)
  if (changes.length === 0) return null
  return (
    <div className="table-box" role="region" aria-label="Changed fields" tabIndex={0}>
      <table className="table">
        <thead>
          <tr>
            <th scope="col">Field</th>
            <th scope="col">Before</th>
            <th scope="col">After</th>
          </tr>
        </thead>
        <tbody>
          {changes.map((change) => (
            <tr key={change.field}>
              <td className="mono">{change.field}</td>
              <td className="mono">{written(change.before)}</td>
              <td className="mono">{written(change.after)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function written(text: string | undefined) {
  return text || <span className="faint">{text === '' ? 'empty' : 'not there'}</span>
}
