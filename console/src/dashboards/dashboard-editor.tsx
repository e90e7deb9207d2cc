import { useMutation } from '@tanstack/react-query'
import { type KeyboardEvent, type PointerEvent, useEffect, useState } from 'react'
import { useLocation } from 'wouter'
import { invalidate, queryClient } from '../api/queries.ts'
import type { Dashboard, Whoami } from '../api/shapes.ts'
import { Conflict } from '../definitions/conflict.tsx'
import { pageOf } from '../definitions/definition.ts'
import { changeDefinition, isConflict } from '../definitions/requests.ts'
import { useDraft } from '../definitions/use-draft.ts'
import { DashboardView } from '../query/dashboard/dashboard-view.tsx'
import { changedItem, type Item, movedItem, type Place, placeOf, widthsOf } from '../query/dashboard/model.ts'
import { Button } from '../ui/button.tsx'
import { CheckField, TextField } from '../ui/fields.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { Empty, Failure } from '../ui/states.tsx'
import { useAddress } from '../ui/use-address.ts'
import { type DashboardDraft, dashboardKind, draftIn, newDashboard, yamlOf } from './dashboard-draft.ts'
import { AddPanel, ItemDialog } from './item-dialog.tsx'
import { ParametersEditor } from './parameters-editor.tsx'

interface EditorProps {
  dashboard: Dashboard
  who: Whoami
  onDone: () => void
}

/** Changes a dashboard in place: the panels show real rows while they are moved. */
export function DashboardEditor({ dashboard, who, onDone }: EditorProps) {
  const [address, setAddress] = useAddress()
  const [, navigate] = useLocation()
  const { draft, base, isChanged, isBehind, setDraft, adopt, discard, rebase } = useDraft({
    kind: dashboardKind,
    saved: dashboard,
    start: newDashboard,
  })
  const [open, setOpen] = useState<Place | 'add' | 'yaml'>()
  const [told, setTold] = useState('')
  const [added, setAdded] = useState<Dashboard['endpoints']>([])
  const close = () => setOpen(undefined)
  const setRows = (rows: DashboardDraft['rows']) => setDraft((now) => ({ ...now, rows }))
  const save = useMutation({
    mutationFn: () => changeDefinition(dashboardKind, base ?? dashboard, draft),
    onSuccess: (saved) => {
      adopt(saved)
      queryClient.setQueryData(['dashboards', saved.name], saved)
      invalidate('dashboards', 'whoami')
      if (saved.name !== dashboard.name) navigate(pageOf(dashboardKind, saved.name))
      else onDone()
    },
  })
  const move = (item: Item, to: Place) => {
    const from = placeOf(draft.rows, item)
    if (!from) return
    const rows = movedItem(draft.rows, from, to)
    const [row = 0, index = 0] = placeOf(rows, item) ?? []
    setRows(rows)
    setTold(`Row ${row + 1}, place ${index + 1}`)
    focusHandle([row, index])
  }
  const resize = (place: Place, width: number) => {
    const item = draft.rows[place[0]]?.items[place[1]]
    const next = Math.max(1, Math.min(12, width))
    if (!item || item.width === next) return
    setRows(changedItem(draft.rows, place, { ...item, width: next }))
    setTold(`Width ${next} of 12`)
  }
  const shown = { ...dashboard, ...draft, endpoints: [...dashboard.endpoints, ...added] }
  const tools = (item: Item, place: Place) => (
    <ItemTools
      item={item}
      place={place}
      width={widthsOf(draft.rows[place[0]]?.items ?? [])[place[1]] ?? 12}
      onMove={(to) => move(item, to)}
      onResize={(width) => resize(place, width)}
      onEdit={() => setOpen(place)}
      onRemove={() => setRows(changedItem(draft.rows, place, undefined))}
    />
  )
  const chosen = Array.isArray(open) ? draft.rows[open[0] as number]?.items[open[1] as number] : undefined
  return (
    <div className="page">
      <PageHead
        title={`Edit ${dashboard.title || dashboard.name}`}
        actions={
          <>
            <Button onClick={() => setOpen('add')} icon="plus">
              Add panel
            </Button>
            <Button onClick={() => setRows([...draft.rows, { items: [{ markdown: 'Text', width: 12 }] }])}>
              Add text
            </Button>
            <Button
              onClick={() => setOpen(open === 'yaml' ? undefined : 'yaml')}
              aria-pressed={open === 'yaml'}
            >
              YAML
            </Button>
            <Button
              onClick={() => {
                discard()
                onDone()
              }}
            >
              {isChanged ? 'Discard' : 'Done'}
            </Button>
            <Button
              look="primary"
              disabled={!isChanged || save.isPending || isBehind}
              onClick={() => save.mutate()}
            >
              Save
            </Button>
          </>
        }
      />
      <p className="visually-hidden" role="status">
        {told}
      </p>
      {save.error && !isConflict(save.error) && <Failure error={save.error} />}
      {isBehind && base && (
        <Conflict
          kind={dashboardKind}
          draft={draft}
          base={base}
          saved={dashboard}
          onRebase={rebase}
          onDiscard={discard}
        />
      )}
      <div className="form-grid">
        <TextField label="Title" value={draft.title} onChange={(title) => setDraft({ ...draft, title })} />
        <TextField
          label="Description"
          value={draft.description}
          onChange={(description) => setDraft({ ...draft, description })}
        />
        <CheckField
          label="Published to tenants who may call its endpoints"
          checked={draft.published}
          onChange={(published) => setDraft({ ...draft, published })}
        />
      </div>
      <ParametersEditor
        parameters={draft.parameters}
        onChange={(parameters) => setDraft((now) => ({ ...now, parameters }))}
      />
      {open === 'yaml' && <YamlText draft={draft} onApply={setDraft} />}
      {draft.rows.length === 0 ? (
        <Empty title="No panels yet">
          <p>Add a panel from an endpoint. Its chart is chosen from the columns.</p>
        </Empty>
      ) : (
        <DashboardView
          dashboard={shown}
          address={address}
          onAddress={(changes) => setAddress(changes, 'replace')}
          fixed={who.parameters}
          tools={tools}
        />
      )}
      {open === 'add' && (
        <AddPanel
          parameters={draft.parameters}
          onClose={close}
          onAdd={(item, parameters, endpoint) => {
            setAdded([...added, endpoint])
            const last = draft.rows.at(-1)
            const isRoom = last !== undefined && widthsOf([...last.items, item]).reduce((a, b) => a + b) <= 12
            const rows = isRoom
              ? [...draft.rows.slice(0, -1), { items: [...last.items, item] }]
              : [...draft.rows, { items: [item] }]
            setDraft({ ...draft, parameters, rows })
            close()
          }}
        />
      )}
      {chosen && Array.isArray(open) && (
        <ItemDialog
          item={chosen}
          columns={shown.endpoints.find(({ name }) => name === chosen.endpoint)?.columns ?? []}
          onClose={close}
          onChange={(item) => {
            setRows(changedItem(draft.rows, open as Place, item))
            close()
          }}
        />
      )}
    </div>
  )
}

function focusHandle([row, index]: Place): void {
  requestAnimationFrame(() =>
    document.querySelector<HTMLElement>(`[data-place="${row} ${index}"] .handle`)?.focus(),
  )
}

interface ItemToolsProps {
  item: Item
  place: Place
  width: number
  onMove: (to: Place) => void
  onResize: (width: number) => void
  onEdit: () => void
  onRemove: () => void
}

/** Handles for mouse and keyboard: arrow keys move an item, and change its width on the other handle. */
function ItemTools({ item, place: [row, index], width, onMove, onResize, onEdit, onRemove }: ItemToolsProps) {
  const name = item.title || item.endpoint || 'text'
  const moveBy = (event: KeyboardEvent) => {
    const to: Record<string, Place> = {
      ArrowLeft: [row, index - 1],
      ArrowRight: [row, index + 1],
      ArrowUp: [row - 1, index],
      ArrowDown: [row + 1, index],
    }
    const target = to[event.key]
    if (!target || target[1] < 0) return
    event.preventDefault()
    onMove(target)
  }
  const resizeBy = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key]
    if (step === undefined) return
    event.preventDefault()
    onResize(width + step)
  }
  const drag = (event: PointerEvent<HTMLElement>) => {
    const panel = event.currentTarget.closest<HTMLElement>('.panel')
    event.currentTarget.setPointerCapture(event.pointerId)
    panel?.classList.add('dragged')
    const drop = (up: globalThis.PointerEvent) => {
      panel?.classList.remove('dragged')
      const target = document.elementFromPoint(up.clientX, up.clientY)?.closest<HTMLElement>('[data-place]')
      const to = target?.dataset.place?.split(' ').map(Number) as unknown as Place | undefined
      if (to && (to[0] !== row || to[1] !== index)) onMove(to)
      else if (
        !target &&
        up.clientY > (document.querySelector('.dashboard')?.getBoundingClientRect().bottom ?? 0)
      ) {
        onMove([Number.MAX_SAFE_INTEGER, 0])
      }
    }
    event.currentTarget.addEventListener('pointerup', drop, { once: true })
  }
  const stretch = (event: PointerEvent<HTMLElement>) => {
    const handle = event.currentTarget
    const panel = handle.closest<HTMLElement>('.panel') as HTMLElement
    const line = panel.parentElement as HTMLElement
    const { left } = panel.getBoundingClientRect()
    handle.setPointerCapture(event.pointerId)
    const follow = (move: globalThis.PointerEvent) =>
      onResize(Math.round(((move.clientX - left) / line.clientWidth) * 12))
    handle.addEventListener('pointermove', follow)
    handle.addEventListener('pointerup', () => handle.removeEventListener('pointermove', follow), {
      once: true,
    })
  }
  return (
    <div className="panel-tools" role="group" aria-label={`Tools of ${name}`}>
      <button
        type="button"
        className="button small plain handle"
        aria-label={`Move ${name}`}
        title="Drag, or use the arrow keys"
        onKeyDown={moveBy}
        onPointerDown={drag}
      >
        ✥
      </button>
      <button
        type="button"
        className="button small plain resize"
        aria-label={`Width of ${name}: ${width} of 12`}
        title="Drag, or use the arrow keys"
        onKeyDown={resizeBy}
        onPointerDown={stretch}
      >
        ↔
      </button>
      <Button look="small plain" onClick={onEdit} aria-label={`Edit ${name}`}>
        Edit
      </Button>
      <Button look="small plain icon" icon="remove" onClick={onRemove} aria-label={`Remove ${name}`} />
    </div>
  )
}

/** The file of the dashboard, which can be changed here as well. */
function YamlText({ draft, onApply }: { draft: DashboardDraft; onApply: (draft: DashboardDraft) => void }) {
  const [text, setText] = useState('')
  const [error, setError] = useState<Error>()
  useEffect(() => {
    yamlOf(draft).then(setText, setError)
  }, [draft])
  const apply = () =>
    draftIn(text, draft.name).then((next) => {
      setError(undefined)
      onApply(next)
    }, setError)
  return (
    <div className="stack">
      <textarea
        className="input dashboard-yaml"
        aria-label={`dashboards/${draft.name}.yaml`}
        spellCheck={false}
        value={text}
        onChange={({ target }) => setText(target.value)}
      />
      {error && <Failure error={error} />}
      <div className="actions">
        <Button onClick={apply}>Apply</Button>
        <span className="faint">dashboards/{draft.name}.yaml</span>
      </div>
    </div>
  )
}
