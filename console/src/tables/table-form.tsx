import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { columnTypes } from '../../../src/shared/column-types.ts'
import { invalidate } from '../api/queries.ts'
import type { LookupTable } from '../api/shapes.ts'
import { ChangeDialog } from '../definitions/breaking-dialog.tsx'
import { changedFields } from '../definitions/definition.ts'
import { changeDefinition } from '../definitions/requests.ts'
import { SelectField, TextField } from '../ui/fields.tsx'
import { tableKind } from './table-kind.ts'

/** Changes the description and the types of columns, which are declared from then on. */
export function TableForm({ table, onClose }: { table: LookupTable; onClose: () => void }) {
  const start = { description: table.description, columns: table.stored_columns }
  const [draft, setDraft] = useState(start)
  const { description, columns } = draft
  const changed = changedFields(draft, start)
  const change = useMutation({
    mutationFn: (breaking: boolean) => {
      const body = Object.fromEntries(changed.map((field) => [field, draft[field]]))
      return changeDefinition(tableKind, table, body, breaking ? { breaking: 'true' } : {})
    },
    onSuccess: () => {
      onClose()
      invalidate('tables', 'endpoints')
    },
  })
  return (
    <ChangeDialog
      title={`Edit ${table.name}`}
      action="Save"
      anyway="Save anyway"
      disabled={changed.length === 0}
      mutation={change}
      onClose={onClose}
    >
      <TextField
        label="Description"
        value={description}
        onChange={(text) => setDraft({ ...draft, description: text })}
      />
      {columns.length > 0 && (
        <fieldset className="field">
          <legend>Types of the columns</legend>
          <span className="note">
            Values that do not fit a new type become null. New rows must then have exactly these columns.
          </span>
          <div className="form-grid">
            {columns.map(({ name, type }) => (
              <SelectField
                key={name}
                label={name}
                value={type}
                options={columnTypes.map((one) => [one] as const)}
                onChange={(next) =>
                  setDraft({
                    ...draft,
                    columns: columns.map((one) => (one.name === name ? { name, type: next } : one)),
                  })
                }
              />
            ))}
          </div>
        </fieldset>
      )}
    </ChangeDialog>
  )
}
