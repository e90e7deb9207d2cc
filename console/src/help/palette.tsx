import { useQuery } from '@tanstack/react-query'
import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react'
import { useLocation } from 'wouter'
import { hasFeature } from '../api/features.ts'
import { queries } from '../api/queries.ts'
import { edits, reads } from '../api/rights.ts'
import { session } from '../api/session.ts'
import type { Whoami } from '../api/shapes.ts'
import { setTheme, useTheme } from '../ui/brand/theme.ts'
import { shownEndpoints } from '../ui/built-in/shown-endpoints.ts'
import { Dialog } from '../ui/dialog.tsx'
import { matches, wordsOf } from '../ui/search.tsx'
import { setZone, useZone } from '../ui/text/instants.ts'

interface PaletteProps {
  who: Whoami
  pages: readonly { path: string; name: string }[]
  onHelp: () => void
  onClose: () => void
}

interface Item {
  kind: 'Page' | 'Endpoint' | 'Source' | 'Table' | 'Action'
  name: string
  act: () => void
}

const maxShown = 50

/** Goes anywhere and does anything, by a few letters of its name. */
export function Palette({ who, pages, onHelp, onClose }: PaletteProps) {
  const id = useId()
  const list = useRef<HTMLDivElement>(null)
  const [text, setText] = useState('')
  const [chosen, setChosen] = useState(0)
  const items = useItems(who, pages, onHelp)
  const words = wordsOf(text)
  const found = items.filter(({ kind, name }) => matches(`${name} ${kind}`, words)).slice(0, maxShown)
  const last = found.length - 1
  const active = Math.min(chosen, last)
  useEffect(() => {
    list.current?.children[active]?.scrollIntoView({ block: 'nearest' })
  }, [active])
  const choose = (item: Item | undefined) => {
    if (!item) return
    onClose()
    item.act()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const next = { ArrowDown: active === last ? 0 : active + 1, ArrowUp: active <= 0 ? last : active - 1 }[
      event.key
    ]
    if (next === undefined && event.key !== 'Enter') return
    event.preventDefault()
    if (next === undefined) choose(found[active])
    else setChosen(next)
  }
  return (
    <Dialog title="Go to" onClose={onClose}>
      <div className="palette">
        <input
          className="input"
          role="combobox"
          aria-label="Go to"
          aria-expanded
          aria-autocomplete="list"
          aria-controls={`${id}-list`}
          aria-activedescendant={active >= 0 ? `${id}-${active}` : undefined}
          placeholder="Page, endpoint, source or action"
          spellCheck={false}
          autoComplete="off"
          autoFocus
          value={text}
          onChange={(event) => {
            setText(event.target.value)
            setChosen(0)
          }}
          onKeyDown={onKeyDown}
        />
        <div id={`${id}-list`} ref={list} role="listbox" aria-label="Found">
          {found.map((item, index) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the focus and handles keys
            <div
              key={`${item.kind} ${item.name}`}
              id={`${id}-${index}`}
              role="option"
              tabIndex={-1}
              aria-selected={index === active}
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => choose(item)}
            >
              <span>{item.name}</span>
              <span className="faint">{item.kind}</span>
            </div>
          ))}
        </div>
        {found.length === 0 && (
          <p className="faint" role="status">
            Nothing matches.
          </p>
        )}
      </div>
    </Dialog>
  )
}

function useItems(who: Whoami, pages: PaletteProps['pages'], onHelp: () => void): Item[] {
  const [, navigate] = useLocation()
  const theme = useTheme() === 'dark' ? 'light' : 'dark'
  const zone = useZone() === 'utc' ? 'local' : 'utc'
  const all = useQuery({ ...queries.endpoints(), enabled: reads(who) })
  const sources = useQuery({ ...queries.sources(), enabled: reads(who) })
  const tables = useQuery({ ...queries.tables(), enabled: reads(who) && hasFeature('tables') })
  const shown = shownEndpoints(who)
  const endpoints: readonly { name: string }[] = (reads(who) ? all.data : shown) ?? []
  const link = (kind: Item['kind'], name: string, path: string): Item => ({
    kind,
    name,
    act: () => navigate(path),
  })
  const action = (name: string, act: () => void): Item => ({ kind: 'Action', name, act })
  return [
    ...pages.map(({ name, path }) => link('Page', name, path)),
    link('Page', 'API', '/docs'),
    ...endpoints.map(({ name }) => link('Endpoint', name, `/console/endpoints/${encodeURIComponent(name)}`)),
    ...(sources.data ?? []).flatMap(({ name }) => [
      link('Source', name, `/console/sources/${name}`),
      link('Source', `${name}: entries`, `/console/logs?source=${name}`),
    ]),
    ...(tables.data ?? []).map(({ name }) => link('Table', name, `/console/tables/${name}`)),
    ...(edits(who)
      ? [
          link('Action', 'New endpoint', '/console/new-endpoint'),
          ...(hasFeature('alerts') ? [link('Action', 'New alert', '/console/alerts?_new=1')] : []),
          ...(hasFeature('tables') ? [link('Action', 'New table', '/console/tables?_new=1')] : []),
        ]
      : []),
    ...(who.admin
      ? [
          link('Action', 'New source', '/console/sources?_new=1'),
          link('Action', 'New token', '/console/tokens?_new=1'),
        ]
      : []),
    action(`Use the ${theme} theme`, () => setTheme(theme)),
    action(zone === 'utc' ? 'Show times in UTC' : 'Show times in local time', () => setZone(zone)),
    action('Keyboard shortcuts', onHelp),
    action('Sign out', () => void session.close()),
  ]
}
