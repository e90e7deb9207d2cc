import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, at } from '../api/api.ts'
import { invalidate, queries } from '../api/queries.ts'
import type { Source, TypedColumn } from '../api/shapes.ts'
import { useMayChange } from '../api/use-may-change.ts'
import { Button } from '../ui/button.tsx'
import { Confirm, Dialog, DialogForm } from '../ui/dialog.tsx'
import { CheckField, SelectField, TextField } from '../ui/fields.tsx'
import { Loaded } from '../ui/states.tsx'
import { suggestedColumn, suggestedType } from './typed-columns.ts'

interface NewColumnProps {
  source: string
  path: string
  /** The type that a query casts it to. */
  cast?: string | null
  onClose: () => void
}

/** The service expects the whole list, so the change is applied to the current list. */
function useColumnChange(
  source: string,
  change: (columns: TypedColumn[]) => TypedColumn[],
  onDone: () => void,
) {
  return useMutation({
    mutationFn: async () => {
      const path = `/api/sources/${at(source)}`
      const { columns } = await api<Source>(path)
      return api<Source>(path, { method: 'PATCH', body: { columns: change(columns) } })
    },
    onSuccess: () => {
      invalidate('sources', 'json-paths')
      onDone()
    },
  })
}

export function CreateColumn({ path, onClick }: { path: string; onClick: () => void }) {
  if (!useMayChange('sources')) return null
  return (
    <Button look="small" aria-label={`Create a column: metadata.${path}`} onClick={onClick}>
      Create a column
    </Button>
  )
}

/** Creates a typed column for a path of metadata. */
export function NewColumn(props: NewColumnProps) {
  const { source, path, onClose } = props
  const columns = useQuery({
    ...queries.sources(),
    select: (all) => all.find(({ name }) => name === source)?.columns.map((column) => column.name) ?? [],
  })
  const seen = useQuery({
    ...queries.schema(source),
    select: (paths) => paths.find((one) => one.path === path)?.types ?? [],
  })
  return (
    <Dialog title="Create a column" onClose={onClose}>
      <Loaded query={columns} what="the source" height={280}>
        {(taken) => (
          <Loaded query={seen} what="the schema" height={280}>
            {(types) => <ColumnForm {...props} taken={taken} types={types} />}
          </Loaded>
        )}
      </Loaded>
    </Dialog>
  )
}

function ColumnForm(props: NewColumnProps & { taken: string[]; types: string[] }) {
  const { source, path, cast = null, onClose, taken, types } = props
  const [column, setColumn] = useState(() => suggestedColumn(path, taken))
  const [type, setType] = useState(() => suggestedType(types, cast))
  const [searched, setSearched] = useState(false)
  const isText = type === 'text'
  const create = useColumnChange(
    source,
    (columns) => [...columns, { name: column, path, type, searched: searched && isText }],
    onClose,
  )
  return (
    <DialogForm
      action="Create column"
      disabled={create.isPending || column === ''}
      error={create.error}
      onSubmit={() => create.mutate()}
      onClose={onClose}
    >
      <p>
        Stores <code className="path">metadata.{path}</code> in a column of <code>{source}</code>, which
        queries read faster than JSON text. Existing entries are included.
      </p>
      <TextField
        label="Name"
        note="Lowercase letters, digits and _, starting with a letter."
        className="mono"
        required
        pattern="[a-z][a-z0-9_]*"
        maxLength={64}
        spellCheck={false}
        value={column}
        onChange={setColumn}
      />
      <SelectField
        label="Type"
        note={isText ? 'Empty where an entry has no value.' : 'Null where an entry has no number.'}
        value={type}
        options={[
          ['text', 'Text'],
          ['number', 'Number'],
        ]}
        onChange={setType}
      />
      {isText && (
        <div className="field">
          <CheckField label="Searchable" checked={searched} onChange={setSearched} />
          <span className="note">
            Adds an index that speeds up searches for parts of the text. It takes more disk space.
          </span>
        </div>
      )}
    </DialogForm>
  )
}

export function RemoveColumn({
  source,
  column,
  path,
  onClose,
}: Omit<NewColumnProps, 'cast'> & { column: string }) {
  const remove = useColumnChange(source, (columns) => columns.filter((one) => one.name !== column), onClose)
  return (
    <Confirm
      title={`Remove the column ${column}?`}
      action="Remove column"
      mutation={remove}
      onClose={onClose}
    >
      <p>
        Queries can no longer read <code>{column}</code>. Entries keep their metadata, so{' '}
        <code className="path">metadata.{path}</code> still works.
      </p>
    </Confirm>
  )
}
