import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { api } from '../api/api.ts'
import { exportEntries, maxExported, searchSql } from '../api/entry-search.ts'
import { hasFeature } from '../api/features.ts'
import { invalidate } from '../api/queries.ts'
import type { Endpoint } from '../api/shapes.ts'
import { ownAddress } from '../query/own-address.ts'
import { Button, Menu } from '../ui/button.tsx'
import { FormDialog } from '../ui/dialog.tsx'
import { TextField } from '../ui/fields.tsx'
import { saveFile } from '../ui/save-file.ts'
import { count } from '../ui/text/format.ts'
import type { EntrySearch } from './use-entries.ts'

interface OnwardProps {
  search: EntrySearch
  /** Paths of the visible columns. */
  columns: readonly string[]
  /** Length of a range that ends now; undefined for a fixed one. */
  relativeMs: number | undefined
  /** Whether endpoints and alerts can be created. */
  canDefine: boolean
}

/** An alert counts the entries of this time before each evaluation. */
const alertSeconds = 300

type Format = 'csv' | 'ndjson'

/** A format, its columns beside the visible ones, or all of them, and its name. */
const files: readonly (readonly [Format, more: readonly string[] | 'all', name: string])[] = [
  ['csv', [], 'CSV'],
  ['csv', ['metadata'], 'CSV with metadata'],
  ['ndjson', [], 'NDJSON'],
  ['ndjson', 'all', 'NDJSON, whole entries'],
]

/** From a search to a file, an endpoint or an alert. */
export function Onward({ search, columns, relativeMs, canDefine }: OnwardProps) {
  const [, navigate] = useLocation()
  const [isAlerting, setAlerting] = useState(false)
  const download = useMutation({
    mutationFn: async ([format, more]: (typeof files)[number]) => {
      const wanted = more === 'all' ? undefined : ['timestamp', ...columns, ...more]
      const response = await exportEntries(search, format, wanted)
      saveFile(await response.blob(), `${search.source}.${format}`)
    },
  })
  const convert = useMutation({
    mutationFn: () => searchSql(search, relativeMs && Math.round(relativeMs / 1000)),
    onSuccess: ({ query }) =>
      navigate(`/console/new-endpoint#${new URLSearchParams({ _sql: query })}`, { state: ownAddress }),
  })
  const error = download.error ?? convert.error
  return (
    <>
      {error && (
        <span className="badge bad verdict" role="alert">
          {error.message}
        </span>
      )}
      <Menu label={download.isPending ? 'Exporting …' : 'Export'} className="small">
        {files.map((file) => (
          <button
            key={file[2]}
            type="button"
            disabled={download.isPending}
            onClick={() => download.mutate(file)}
          >
            {file[2]}
          </button>
        ))}
        <p className="menu-note">The columns of the list, and up to {count(maxExported)} entries.</p>
      </Menu>
      {canDefine && (
        <>
          <Button look="small" disabled={convert.isPending} onClick={() => convert.mutate()}>
            Save as endpoint
          </Button>
          {hasFeature('alerts') && (
            <Button look="small" aria-haspopup="dialog" onClick={() => setAlerting(true)}>
              Alert on this
            </Button>
          )}
        </>
      )}
      {isAlerting && <AlertDialog search={search} onClose={() => setAlerting(false)} />}
    </>
  )
}

/** An alert evaluates an endpoint, so the search becomes one that counts its entries. */
function AlertDialog({ search, onClose }: { search: EntrySearch; onClose: () => void }) {
  const [, navigate] = useLocation()
  const [name, setName] = useState('')
  const create = useMutation({
    mutationFn: async () => {
      const { count: query } = await searchSql(search, alertSeconds)
      const description = `Entries of ${search.source} that match: ${search.query || 'everything'}`
      return api<Endpoint>('/api/endpoints', { body: { name, query, description } })
    },
    onSuccess: ({ name: endpoint }) => {
      invalidate('endpoints')
      navigate(`/console/alerts?${new URLSearchParams({ endpoint, when: 'any(entries) > 0' })}`)
    },
  })
  return (
    <FormDialog
      title="Alert on this"
      action={create.isPending ? 'Creating …' : 'Continue'}
      disabled={create.isPending}
      error={create.error}
      onSubmit={() => create.mutate()}
      onClose={onClose}
    >
      <p>
        An alert evaluates an endpoint. This creates one that counts the entries of this search in the last
        five minutes, and opens the form of the alert.
      </p>
      <TextField
        label="Name of the endpoint"
        required
        placeholder={`${search.source.replaceAll('_', '-')}.errors`}
        value={name}
        onChange={setName}
      />
    </FormDialog>
  )
}
