import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { at, send } from '../api/api.ts'
import { queries } from '../api/queries.ts'
import type { LookupTable } from '../api/shapes.ts'
import { useMayChange } from '../api/use-may-change.ts'
import { DeleteDialog } from '../definitions/delete-dialog.tsx'
import { Versions } from '../definitions/versions.tsx'
import { namesRead } from '../query/editor/sources-read.ts'
import { linksTo, Related } from '../query/related.tsx'
import { Button } from '../ui/button.tsx'
import { Choices } from '../ui/choices.tsx'
import { Facts } from '../ui/facts.tsx'
import { Existing, PageHead } from '../ui/page-head.tsx'
import { saveFile } from '../ui/save-file.ts'
import { Empty, Failure, Loaded } from '../ui/states.tsx'
import { ago, bytes, count } from '../ui/text/format.ts'
import { useAddress } from '../ui/use-address.ts'
import { RowsDialog } from './rows-dialog.tsx'
import { RowsTable } from './rows-table.tsx'
import { TableForm } from './table-form.tsx'
import { tableKind } from './table-kind.ts'

const tabs = [
  ['rows', 'Rows'],
  ['versions', 'Versions'],
] as const

/** One table: its rows, who reads it, and the versions of its definition. */
export default function TablePage({ name }: { name: string }) {
  const query = useQuery(queries.table(name))
  const { data: endpoints = [] } = useQuery(queries.endpoints())
  const readers = endpoints
    .filter((endpoint) => namesRead(endpoint.query, new Set([name])).length > 0)
    .map((endpoint) => endpoint.name)
  const [address, setAddress] = useAddress()
  const tab = address.get('_tab') === 'versions' ? 'versions' : 'rows'
  return (
    <Existing query={query} kind={tableKind} name={name}>
      {(table) => (
        <div className="page">
          <PageHead title={name} actions={<TableActions table={table} />}>
            {table.description && <p>{table.description}</p>}
            <Related label="Read by" links={linksTo('endpoints', readers)} />
          </PageHead>
          <Facts
            facts={[
              ['Rows', count(table.rows)],
              ['Size', bytes(table.bytes)],
              ['Replaced', ago(table.rows_updated_at)],
              ['Tenants see', seenBy(table)],
            ]}
          />
          <Choices
            label="Part of the table"
            options={tabs}
            value={tab}
            onChange={(chosen) => setAddress({ _tab: chosen === 'rows' ? undefined : chosen })}
          />
          {tab === 'versions' ? <Versions kind={tableKind} saved={table} /> : <Rows table={table} />}
        </div>
      )}
    </Existing>
  )
}

function seenBy({ stored_columns }: LookupTable): string {
  return stored_columns.some(({ name }) => name === 'project')
    ? 'rows of their project'
    : 'results of saved endpoints'
}

function Rows({ table: { name, stored_columns } }: { table: LookupTable }) {
  const query = useQuery(queries.tableRows(name))
  return (
    <Loaded query={query} what="the rows" height={360}>
      {({ rows, result }) =>
        rows === 0 ? (
          <Empty title="No rows yet">
            <p>Queries that read the table find nothing.</p>
          </Empty>
        ) : (
          <>
            {result.length < rows && <p className="soft">The first {count(result.length)} rows.</p>}
            <RowsTable columns={stored_columns} rows={result} />
          </>
        )
      }
    </Loaded>
  )
}

function TableActions({ table }: { table: LookupTable }) {
  const { name, id, rows } = table
  const mayChange = useMayChange()
  const [open, setOpen] = useState<'rows' | 'edit' | 'delete'>()
  const close = () => setOpen(undefined)
  const download = useMutation({
    mutationFn: async () => {
      const response = await send(`/api/tables/${at(id)}/rows?_format=csv`)
      saveFile(await response.blob(), `${name}.csv`)
    },
  })
  return (
    <>
      <Button disabled={rows === 0 || download.isPending} onClick={() => download.mutate()}>
        Download CSV
      </Button>
      {mayChange && (
        <>
          <Button onClick={() => setOpen('rows')}>Replace rows</Button>
          <Button onClick={() => setOpen('edit')}>Edit</Button>
          <Button look="danger" onClick={() => setOpen('delete')}>
            Delete
          </Button>
        </>
      )}
      {download.error && <Failure error={download.error} />}
      {open === 'rows' && <RowsDialog table={table} onClose={close} />}
      {open === 'edit' && <TableForm table={table} onClose={close} />}
      {open === 'delete' && (
        <DeleteDialog kind={tableKind} saved={table} onClose={close}>
          <p>Its rows and all of its versions are deleted.</p>
        </DeleteDialog>
      )}
    </>
  )
}
