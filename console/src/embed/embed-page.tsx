import { useEffect, useState } from 'react'
import { useWindowHeight } from '../charts/use-window-height.ts'
import { choiceOf } from '../query/result/chart-choice.ts'
import { ResultChart } from '../query/result/result-chart.tsx'
import { wordLabels } from '../query/result/result-columns.ts'
import { ResultTable } from '../query/result/result-table.tsx'
import { useBrand } from '../ui/brand/brand.ts'
import { Boundary, Empty, Waiting } from '../ui/states.tsx'
import type { EmbedAddress } from './embed-address.ts'
import { watchTokens } from './embed-token.ts'
import { type Embedded, useEmbedded } from './use-embedded.ts'

/** The chart or table of one endpoint, which follows its result. */
export function EmbedPage({ address, first }: { address: EmbedAddress; first: string | null }) {
  const brand = useBrand()
  const [token, setToken] = useState(first)
  useEffect(() => watchTokens(setToken), [])
  const embedded = useEmbedded(address, token)
  const { state, endpoint } = embedded
  const title = endpoint?.description || address.name
  useEffect(() => {
    document.title = brand?.name ? `${title} · ${brand.name}` : title
  }, [title, brand])
  const notice = noticeOf(embedded)
  return (
    <main className="embed">
      {address.hasTitle && (
        <header>
          {brand?.logo && <img className="logo" src="/console/logo" alt="" />}
          <h1 title={title}>{title}</h1>
          <span className={`faint live-mark ${state === 'open' ? 'open' : ''}`}>
            {state === 'open' && 'Live'}
          </span>
        </header>
      )}
      {notice && embedded.result && (
        <p className="note-box" role="status">
          {notice}
        </p>
      )}
      <Boundary>
        <Content embedded={embedded} address={address} notice={notice} />
      </Boundary>
    </main>
  )
}

interface ContentProps {
  embedded: Embedded
  address: EmbedAddress
  notice: string | undefined
}

function Content({ embedded: { endpoint, result }, address, notice }: ContentProps) {
  const windowHeight = useWindowHeight()
  const height = Math.max(140, windowHeight - (address.hasTitle ? 100 : 64))
  if (!result || !endpoint) {
    if (notice === undefined) return <Waiting what="the chart" height={height} />
    return (
      <div className="empty" role="status">
        <p>{notice}</p>
      </div>
    )
  }
  const { rows } = result
  if (rows.length === 0) {
    return (
      <Empty title="No data">
        <p>There are no rows for these parameters yet.</p>
      </Empty>
    )
  }
  const { columns, chart } = endpoint
  const { type } = choiceOf(rows, columns, chart)
  const isTable = type === 'table' || (type === 'none' && address.view !== 'chart')
  return address.view === 'table' || isTable ? (
    <ResultTable rows={rows} columns={columns} labels={wordLabels} />
  ) : (
    <ResultChart rows={rows} columns={columns} chart={chart} labels={wordLabels} height={height} />
  )
}

/** What the visitor should know. */
function noticeOf({ state, error }: Embedded): string | undefined {
  switch (state) {
    case 'no token':
      return 'Waiting for permission to show this chart.'
    case 'expired':
      return 'The session has ended. Reload the page to continue.'
    case 'refused':
      return 'This chart does not exist, or you are not allowed to see it.'
    case 'broken':
      return 'The service cannot be reached. Reconnecting …'
    case 'connecting':
    case 'open':
    case 'loaded':
    case 'failed':
      return error?.message
  }
}
