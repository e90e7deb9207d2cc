import { useMutation, useQuery } from '@tanstack/react-query'
import { useId, useMemo, useState } from 'react'
import { useLocation } from 'wouter'
import { api, at } from '../api/api.ts'
import { invalidate, queries } from '../api/queries.ts'
import type { LookupTable } from '../api/shapes.ts'
import { ChangeDialog } from '../definitions/breaking-dialog.tsx'
import { pageOf } from '../definitions/definition.ts'
import { createDefinition } from '../definitions/requests.ts'
import { TextField } from '../ui/fields.tsx'
import { Failure } from '../ui/states.tsx'
import { bytes, count, counted } from '../ui/text/format.ts'
import { nameProblem } from '../ui/text/names.ts'
import { RowsTable } from './rows-table.tsx'
import { readSheet, type Sheet } from './sheet.ts'
import { tableKind } from './table-kind.ts'

/** The most that the service takes. */
const maxBytes = 64 * 2 ** 20

interface RowsDialogProps {
  /** Undefined: a new one. */
  table?: LookupTable
  onClose: () => void
}

/** Replaces the rows of a table, or creates one with its first rows. */
export function RowsDialog({ table, onClose }: RowsDialogProps) {
  const [, navigate] = useLocation()
  const [name, setName] = useState('')
  const [description, setDescription] = useState('')
  const [text, setText] = useState('')
  // Stays if its rows are refused, so that others can be sent.
  const [made, setMade] = useState(table)
  const { data: others } = useQuery(queries.tables())
  const problem = made ? '' : nameProblem('table', name, others)
  const { sheet, fault } = useMemo(() => readingOf(text, table), [text, table])
  const replace = useMutation({
    async mutationFn(breaking: boolean) {
      const target = made ?? (await createDefinition<LookupTable>(tableKind, { name, description }))
      setMade(target)
      const path = `/api/tables/${at(target.id)}/rows?breaking=${breaking}`
      await api(path, { method: 'PUT', body: sheet?.csv() })
      return target
    },
    onSuccess: (target) => {
      onClose()
      navigate(pageOf(tableKind, target.name))
    },
    onSettled: () => invalidate('tables', 'endpoints', 'whoami'),
  })
  return (
    <ChangeDialog
      title={table ? `Replace the rows of ${table.name}` : 'New table'}
      action={table ? 'Replace rows' : 'Create table'}
      anyway="Replace anyway"
      isWide
      disabled={!sheet || problem !== '' || (!made && name === '')}
      mutation={replace}
      onClose={onClose}
    >
      {!table && (
        <div className="form-grid">
          <TextField
            label="Name"
            note="The table name in SQL: lowercase letters, digits and _."
            problem={problem}
            className="mono"
            disabled={made !== undefined}
            value={name}
            onChange={setName}
          />
          <TextField
            label="Description"
            disabled={made !== undefined}
            value={description}
            onChange={setDescription}
          />
        </div>
      )}
      <RowsField text={text} onText={setText} />
      {fault && <Failure error={fault} />}
      {sheet && <Preview sheet={sheet} />}
    </ChangeDialog>
  )
}

/** Neither while there is no text. */
function readingOf(text: string, table: LookupTable | undefined): { sheet?: Sheet; fault?: Error } {
  try {
    return text.trim() === '' ? {} : { sheet: readSheet(text, table?.columns) }
  } catch (error) {
    return { fault: error as Error }
  }
}

interface RowsFieldProps {
  text: string
  onText: (text: string) => void
}

/** Takes text or a file, whose text is too long for a field. */
function RowsField({ text, onText }: RowsFieldProps) {
  const id = useId()
  const [file, setFile] = useState<File>()
  const [fault, setFault] = useState<Error>()
  const choose = async (chosen: File | undefined) => {
    setFile(chosen)
    const read = chosen ? await textOf(chosen) : ''
    setFault(typeof read === 'string' ? undefined : read)
    onText(typeof read === 'string' ? read : '')
  }
  return (
    <>
      <div className="field">
        <label htmlFor={id}>Rows</label>
        <textarea
          id={id}
          className="input mono"
          rows={file ? 1 : 6}
          spellCheck={false}
          disabled={file !== undefined}
          placeholder={file ? '' : 'id,plan\nacme,pro'}
          value={file ? '' : text}
          onChange={({ target }) => onText(target.value)}
        />
        <span className="note">
          Paste cells of a spreadsheet or CSV. The first row has the names of the columns.
        </span>
      </div>
      <div className="field">
        <label htmlFor={`${id}-file`}>Or a file</label>
        <input
          id={`${id}-file`}
          type="file"
          accept=".csv,.tsv,.txt,text/csv,text/tab-separated-values"
          onChange={({ target }) => void choose(target.files?.[0])}
        />
      </div>
      {fault && <Failure error={fault} />}
    </>
  )
}

/** The text of a file, or why it cannot be read. */
async function textOf(file: File): Promise<string | Error> {
  if (file.size > maxBytes) return new Error(`${file.name} has more than ${bytes(maxBytes)}.`)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(await file.arrayBuffer())
  } catch {
    return new Error(`${file.name} is not text in UTF-8. Save it as CSV in UTF-8.`)
  }
}

function Preview({ sheet: { columns, first, read, isWhole } }: { sheet: Sheet }) {
  const rows = counted(read, 'row')
  return (
    <>
      <p className="soft" role="status">
        {isWhole ? `${rows}.` : `More than ${rows}. The types are those of the first ${count(read)}.`}{' '}
        {first.length < read && `Below are the first ${first.length}.`}
      </p>
      <RowsTable columns={columns} rows={first} />
    </>
  )
}
