import { useMutation, useQuery } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { api, at } from '../api/api.ts'
import type { Source, TypedColumn } from '../api/api-types.ts'
import { queries, queryClient } from '../api/queries.ts'
import { Confirm, Dialog } from '../ui/dialog.tsx'
import { Failure, Loaded } from '../ui/states.tsx'
import { suggestedColumn, suggestedType } from './typed-columns.ts'

interface NewColumnProps {
  source: string
  path: string
  /** The type that a query casts it to. */
  cast?: string | null
  onClose: () => void
}

/** The service takes the whole list, so the change is made to the list as it is now. */
function useColumnChange(
  source: string,
  change: (columns: TypedColumn[]) => TypedColumn[],
  onDone: () => void,
) {
  return useMutation({
    mutationFn: async () => {
      const path = `/api/sources/${at(source)}`
      const { hot_fields } = await api<Source>(path)
      return api<Source>(path, { method: 'PATCH', body: { hot_fields: change(hot_fields) } })
    },
    onSuccess: () => {
      queryClient.invalidateQueries({ queryKey: ['sources'] })
      queryClient.invalidateQueries({ queryKey: ['json-paths'] })
      onDone()
    },
  })
}

/** Makes a typed column of a path of metadata. */
export function NewColumn(props: NewColumnProps) {
  const { source, path, onClose } = props
  const columns = useQuery({
    ...queries.sources(),
    select: (all) => all.find(({ name }) => name === source)?.hot_fields.map(({ column }) => column) ?? [],
  })
  const seen = useQuery({
    ...queries.schema(source),
    select: (paths) => paths.find((one) => one.path === path)?.types ?? [],
  })
  return (
    <Dialog title="Make a column" onClose={onClose}>
      <Loaded query={columns} what="the source" height={280}>
        {(taken) => (
          <Loaded query={seen} what="the schema" height={280}>
            {(types) => <Form {...props} taken={taken} types={types} />}
          </Loaded>
        )}
      </Loaded>
    </Dialog>
  )
}

function Form({
  source,
  path,
  cast = null,
  onClose,
  taken,
  types,
}: NewColumnProps & { taken: string[]; types: string[] }) {
  const id = useId()
  const [column, setColumn] = useState(() => suggestedColumn(path, taken))
  const [type, setType] = useState(() => suggestedType(types, cast))
  const [searched, setSearched] = useState(false)
  const make = useColumnChange(
    source,
    (columns) => [...columns, { column, path, type, searched: searched && type === 'text' }],
    onClose,
  )
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault()
        make.mutate()
      }}
    >
      <p>
        <code className="path">metadata.{path}</code> gets a column of its own in <code>{source}</code>, which
        queries read faster than JSON text. Stored entries have their values at once.
      </p>
      <div className="field">
        <label htmlFor={`${id}-name`}>Name</label>
        <input
          id={`${id}-name`}
          className="input mono"
          required
          pattern="[a-z][a-z0-9_]*"
          maxLength={64}
          spellCheck={false}
          value={column}
          onChange={(event) => setColumn(event.target.value)}
        />
        <span className="note">Lowercase letters, digits and _, starting with a letter.</span>
      </div>
      <div className="field">
        <label htmlFor={`${id}-type`}>Type</label>
        <select
          id={`${id}-type`}
          className="input"
          value={type}
          onChange={(event) => setType(event.target.value as TypedColumn['type'])}
        >
          <option value="text">Text</option>
          <option value="number">Number</option>
        </select>
        <span className="note">
          {type === 'text' ? 'Empty where an entry has no value.' : 'Null where an entry has no number.'}
        </span>
      </div>
      {type === 'text' && (
        <div className="field">
          <label className="check">
            <input
              type="checkbox"
              checked={searched}
              onChange={(event) => setSearched(event.target.checked)}
            />
            Searchable
          </label>
          <span className="note">
            Adds an index that speeds up searches for parts of the text. It takes more disk space.
          </span>
        </div>
      )}
      {make.error && <Failure error={make.error} />}
      <div className="dialog-foot">
        <button type="button" className="button" onClick={onClose}>
          Cancel
        </button>
        <button type="submit" className="button primary" disabled={make.isPending || column === ''}>
          Make the column
        </button>
      </div>
    </form>
  )
}

export function RemoveColumn({
  source,
  column,
  path,
  onClose,
}: {
  source: string
  column: string
  path: string
  onClose: () => void
}) {
  const remove = useColumnChange(source, (columns) => columns.filter((one) => one.column !== column), onClose)
  return (
    <Confirm
      title={`Remove the column ${column}?`}
      action="Remove the column"
      busy={remove.isPending}
      onConfirm={() => remove.mutate()}
      onClose={onClose}
    >
      <p>
        Queries can no longer read <code>{column}</code>. Entries keep their metadata, so{' '}
        <code className="path">metadata.{path}</code> still works.
      </p>
      {remove.error && <Failure error={remove.error} />}
    </Confirm>
  )
}
