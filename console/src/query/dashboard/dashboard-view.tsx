import { type ReactNode, useEffect, useId, useMemo, useState } from 'react'
import type { Dashboard } from '../../api/shapes.ts'
import { Markdown } from './markdown.tsx'
import { type Item, type Place, refreshOf, valuesOf, widthsOf } from './model.ts'
import { Panel, type PanelContext } from './panel.tsx'
import { ParameterBar } from './parameter-bar.tsx'

interface DashboardViewProps {
  dashboard: Pick<Dashboard, 'parameters' | 'endpoints' | 'rows' | 'refresh'>
  address: URLSearchParams
  onAddress: (changes: Record<string, string | undefined>) => void
  /** Parameters that viewers cannot choose. */
  fixed: Record<string, string>
  token?: string | undefined
  onRefused?: (error: Error) => void
  /** Beside the title of an item, for editing. */
  tools?: (item: Item, place: Place) => ReactNode
}

/** The parameters and panels of a dashboard. */
export function DashboardView(props: DashboardViewProps) {
  const { dashboard, address, onAddress, fixed, token, onRefused, tools } = props
  const { parameters, rows } = dashboard
  const refresh = refreshOf(address.get('_refresh'), dashboard.refresh)
  const [ticks, setTicks] = useState(0)
  useEffect(() => {
    if (typeof refresh !== 'number') return
    const timer = setInterval(
      () => document.visibilityState === 'visible' && setTicks((n) => n + 1),
      refresh * 1000,
    )
    return () => clearInterval(timer)
  }, [refresh])
  // biome-ignore lint/correctness/useExhaustiveDependencies: a relative range moves with every refresh
  const values = useMemo(
    () => valuesOf(parameters, address, fixed, Date.now()),
    [parameters, address, fixed, ticks],
  )
  const tick = refresh === 'live' ? ('live' as const) : ticks
  const context = { dashboard, values, tick, token, onRefused }
  return (
    <>
      <ParameterBar
        parameters={parameters}
        values={values}
        fixed={fixed}
        address={address}
        refresh={refresh}
        onAddress={onAddress}
        onReload={() => setTicks((n) => n + 1)}
      />
      <div className="dashboard">
        {rows.map(({ items }, row) => {
          const widths = widthsOf(items)
          return (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows have no identity of their own
            <div key={row} className="dashboard-row">
              {items.map((item, index) => (
                <ItemCard
                  // biome-ignore lint/suspicious/noArrayIndexKey: equal items are possible
                  key={`${item.endpoint ?? 'text'} ${item.title ?? ''} ${index}`}
                  item={item}
                  width={widths[index] as number}
                  context={context}
                  tools={tools?.(item, [row, index])}
                  place={[row, index]}
                />
              ))}
            </div>
          )
        })}
      </div>
    </>
  )
}

interface ItemCardProps {
  item: Item
  width: number
  context: PanelContext
  tools: ReactNode
  place: Place
}

function ItemCard({ item, width, context, tools, place }: ItemCardProps) {
  const id = useId()
  const isText = item.markdown !== undefined
  const title = item.title || (isText ? '' : item.endpoint)
  return (
    <section
      className={`panel card${isText ? ' text' : ''}`}
      style={{ gridColumn: `span ${width}` }}
      data-place={place.join(' ')}
      {...(title ? { 'aria-labelledby': id } : { 'aria-label': 'Text' })}
    >
      {(title || tools) && (
        <header>
          {title && <h2 id={id}>{title}</h2>}
          {tools}
        </header>
      )}
      {isText ? <Markdown text={item.markdown ?? ''} /> : <Panel item={item} context={context} />}
    </section>
  )
}
