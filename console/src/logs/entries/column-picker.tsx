import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { keysOf, pathOf, shownPath } from '../../../../src/shared/path-text.ts'
import { api, at } from '../../api/api.ts'
import { invalidate } from '../../api/queries.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Form, TextField } from '../../ui/fields.tsx'
import { Failure } from '../../ui/states.tsx'
import type { Columns } from './use-columns.ts'

interface ColumnPickerProps {
  columns: Columns
  /** Fields of the entries, to choose from. */
  fields: readonly string[]
  /** Where the choice can be made for everyone; undefined where the token cannot. */
  source: string | undefined
}

/** Chooses the columns of the list, their order and widths. */
export function ColumnPicker({ columns, fields, source }: ColumnPickerProps) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button look="small" aria-haspopup="dialog" onClick={() => setOpen(true)}>
        Columns
      </Button>
      {isOpen && (
        <Dialog close="Done" title="Columns" onClose={() => setOpen(false)}>
          <Picker columns={columns} fields={fields} source={source} />
        </Dialog>
      )}
    </>
  )
}

function Picker({ columns: { shown = [], isOwn, choose, resize }, fields, source }: ColumnPickerProps) {
  const [added, setAdded] = useState('')
  const paths = shown.map(({ path }) => path)
  const others = ['project', 'message', ...fields].filter((path) => !paths.includes(path))
  const move = (index: number, by: -1 | 1) => {
    const rest = paths.filter((_, at) => at !== index)
    choose([...rest.slice(0, index + by), paths[index] as string, ...rest.slice(index + by)])
  }
  const add = () => {
    const path = pathOf(keysOf(added.trim()))
    if (path !== '' && !paths.includes(path)) choose([...paths, path])
    setAdded('')
  }
  const save = useMutation({
    mutationFn: (list_columns: string[]) =>
      api(`/api/sources/${at(source ?? '')}`, { method: 'PATCH', body: { list_columns } }),
    onSuccess: () => {
      choose(undefined)
      invalidate('sources', 'list-columns')
    },
  })
  return (
    <>
      <ol className="column-list" aria-label="Shown columns">
        {shown.map(({ path, width }, index) => {
          const name = shownPath(path)
          return (
            <li key={path}>
              <code>{name}</code>
              <input
                type="range"
                aria-label={`Width of ${name}`}
                min={40}
                max={600}
                step={10}
                value={width}
                onChange={({ target }) => resize(path, Number(target.value))}
              />
              <Button
                look="small"
                aria-label={`Move ${name} up`}
                disabled={index === 0}
                onClick={() => move(index, -1)}
              >
                ↑
              </Button>
              <Button
                look="small"
                aria-label={`Move ${name} down`}
                disabled={index === paths.length - 1}
                onClick={() => move(index, 1)}
              >
                ↓
              </Button>
              <Button
                look="small"
                aria-label={`Remove ${name}`}
                onClick={() => choose(paths.filter((one) => one !== path))}
                icon="remove"
              />
            </li>
          )
        })}
      </ol>
      <Form className="save-search" onSubmit={add}>
        <TextField
          label="Add a field"
          className="mono"
          list="other-fields"
          spellCheck={false}
          value={added}
          onChange={setAdded}
        />
        <Button type="submit" disabled={added.trim() === ''}>
          Add
        </Button>
        <datalist id="other-fields">
          {others.map((path) => (
            <option key={path} value={shownPath(path)} />
          ))}
        </datalist>
      </Form>
      <p className="faint">Your choice is kept in this browser, for this source.</p>
      {save.error && <Failure error={save.error} />}
      <div className="row">
        <Button look="small" disabled={!isOwn} onClick={() => choose(undefined)}>
          Reset
        </Button>
        {source !== undefined && (
          <Button
            look="small"
            disabled={!isOwn || save.isPending}
            onClick={() => save.mutate(paths.filter((path) => path !== 'message'))}
          >
            Use for everyone
          </Button>
        )}
      </div>
    </>
  )
}
