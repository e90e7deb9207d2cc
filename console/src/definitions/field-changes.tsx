import { Table } from '../ui/table.tsx'
import { fieldChanges } from './definition.ts'

interface FieldChangesProps {
  before: object
  after: object
  /** The field with SQL, which is left out. */
  sql: string | undefined
}

/** The differences between two versions, except for their SQL. */
export function FieldChanges({ before, after, sql }: FieldChangesProps) {
  const changes = fieldChanges(before, after, sql)
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
