import { useQuery } from '@tanstack/react-query'
import { queries } from '../api/queries.ts'
import { useMayChange } from '../api/use-may-change.ts'
import { pageOf } from '../definitions/definition.ts'
import { ListPage } from '../definitions/list-page.tsx'
import { Empty } from '../ui/states.tsx'
import { NameLink, Table } from '../ui/table.tsx'
import { ago, bytes, count } from '../ui/text/format.ts'
import { useCreating } from '../ui/use-address.ts'
import { RowsDialog } from './rows-dialog.tsx'
import { tableKind } from './table-kind.ts'

const columns = [
  ['Table'],
  ['Columns', 'optional'],
  ['Rows', 'right'],
  ['Size', 'right optional'],
  ['Replaced', 'right optional'],
] as const

export default function TableList() {
  const mayChange = useMayChange()
  const query = useQuery(queries.tables())
  const [creating, setCreating] = useCreating()
  return (
    <ListPage
      title="Tables"
      about="Small tables to join entries with, such as customers and their plans."
      create={mayChange ? ['New table', () => setCreating(true)] : undefined}
      query={query}
      textOf={({ name, description, stored_columns }) =>
        [name, description, ...stored_columns.map((column) => column.name)].join(' ')
      }
      hint="name, description or column"
      empty={
        <Empty title="No tables yet">
          <p>Paste rows of a spreadsheet, or choose a CSV file.</p>
        </Empty>
      }
      below={creating && mayChange && <RowsDialog onClose={() => setCreating(false)} />}
    >
      {(tables) => (
        <Table columns={columns}>
          {tables.map(({ id, name, description, stored_columns, rows, bytes: size, rows_updated_at }) => (
            <tr key={id}>
              <td>
                <NameLink href={pageOf(tableKind, name)} name={name} />
                <div className="under">{description}</div>
              </td>
              <td className="optional">{stored_columns.map((column) => column.name).join(', ')}</td>
              <td className="right">{count(rows)}</td>
              <td className="right optional">{bytes(size)}</td>
              <td className="right optional">{ago(rows_updated_at)}</td>
            </tr>
          ))}
        </Table>
      )}
    </ListPage>
  )
}
