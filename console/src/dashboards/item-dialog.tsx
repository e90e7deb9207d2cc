import { useQuery } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { queries } from '../api/queries.ts'
import type { Column, Dashboard } from '../api/shapes.ts'
import type { Item } from '../query/dashboard/model.ts'
import { FormDialog } from '../ui/dialog.tsx'
import { SelectField, TextField } from '../ui/fields.tsx'
import { Loaded } from '../ui/states.tsx'
import { type DashboardDraft, panelFor } from './dashboard-draft.ts'

const charts = [
  ['', 'Automatic'],
  ['bars', 'Bars'],
  ['lines', 'Lines'],
  ['area', 'Area'],
  ['number', 'Number'],
  ['table', 'Table'],
] as const

interface AddPanelProps {
  parameters: DashboardDraft['parameters']
  onAdd: (
    item: Item,
    parameters: DashboardDraft['parameters'],
    endpoint: Dashboard['endpoints'][number],
  ) => void
  onClose: () => void
}

/** Chooses an endpoint. Its parameters become those of the dashboard. */
export function AddPanel({ parameters, onAdd, onClose }: AddPanelProps) {
  const query = useQuery(queries.endpoints())
  const [name, setName] = useState('')
  const [title, setTitle] = useState('')
  const [chart, setChart] = useState('')
  const endpoint = query.data?.find((one) => one.name === name)
  return (
    <FormDialog
      title="Add panel"
      action="Add panel"
      disabled={!endpoint}
      onSubmit={() => {
        if (!endpoint) return
        const { item, parameters: all } = panelFor(endpoint, parameters)
        const look = { ...(title && { title }), ...(chart && { chart: chart as NonNullable<Item['chart']> }) }
        const { columns, chart: own } = endpoint
        onAdd({ ...item, ...look }, all, { name, columns, chart: own })
      }}
      onClose={onClose}
    >
      <Loaded query={query} what="the endpoints">
        {(endpoints) => (
          <SelectField
            label="Endpoint"
            value={name}
            options={[['', 'Choose …'] as const, ...endpoints.map((one) => [one.name] as const)]}
            onChange={setName}
          />
        )}
      </Loaded>
      <TextField label="Title" value={title} onChange={setTitle} />
      <SelectField label="Chart" value={chart} options={charts} onChange={setChart} />
    </FormDialog>
  )
}

interface ItemDialogProps {
  item: Item
  columns: readonly Column[]
  onChange: (item: Item) => void
  onClose: () => void
}

/** The fields of one item. Empty ones are left out. */
export function ItemDialog({ item, columns, onChange, onClose }: ItemDialogProps) {
  const [draft, setDraft] = useState(item)
  type Fields = { [Key in keyof Item]?: Item[Key] | undefined }
  const set = (fields: Fields) => setDraft({ ...draft, ...fields } as Item)
  const isText = item.markdown !== undefined
  const names = [['', 'Automatic'] as const, ...columns.map(({ name }) => [name] as const)]
  const id = useId()
  return (
    <FormDialog
      title={isText ? 'Text' : (item.endpoint ?? '')}
      action="Apply"
      onSubmit={() => {
        const filled = Object.entries(draft).filter(([, value]) => value !== undefined && value !== '')
        onChange(Object.fromEntries(filled) as Item)
      }}
      onClose={onClose}
    >
      <TextField label="Title" value={draft.title ?? ''} onChange={(title) => set({ title })} />
      {isText ? (
        <div className="field">
          <label htmlFor={id}>Markdown</label>
          <textarea
            id={id}
            className="input dashboard-yaml"
            value={draft.markdown}
            onChange={({ target }) => set({ markdown: target.value || ' ' })}
          />
        </div>
      ) : (
        <>
          <SelectField
            label="Chart"
            value={draft.chart ?? ''}
            options={charts}
            onChange={(chart) => set({ chart: (chart || undefined) as Item['chart'] })}
          />
          <SelectField
            label="X-axis"
            value={draft.x ?? ''}
            options={names}
            onChange={(x) => set({ x: x || undefined })}
          />
          <TextField
            label="Columns"
            note="Separated by commas. Empty: chosen from the columns."
            value={draft.y?.join(', ') ?? ''}
            onChange={(text) => {
              const y = text
                .split(',')
                .map((name) => name.trim())
                .filter(Boolean)
              set({ y: y.length > 0 ? y : undefined })
            }}
          />
          {Object.entries(draft.parameters ?? {}).map(([name, value]) => (
            <TextField
              key={name}
              label={name}
              note={value.startsWith('@') ? 'A parameter of the dashboard.' : 'Viewers cannot change it.'}
              value={value}
              onChange={(next) => set({ parameters: { ...draft.parameters, [name]: next } })}
            />
          ))}
        </>
      )}
    </FormDialog>
  )
}
