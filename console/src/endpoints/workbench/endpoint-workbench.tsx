import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useEffect, useState } from 'react'
import { useLocation } from 'wouter'
import { queries } from '../../api/queries.ts'
import type { Endpoint, Whoami } from '../../api/shapes.ts'
import { useMayChange } from '../../api/use-may-change.ts'
import { Conflict } from '../../definitions/conflict.tsx'
import { Versions } from '../../definitions/versions.tsx'
import { linksTo, Reads, Related } from '../../query/related.tsx'
import { Button } from '../../ui/button.tsx'
import { Choices } from '../../ui/choices.tsx'
import { PageHead } from '../../ui/page-head.tsx'
import { nameProblem } from '../../ui/text/names.ts'
import { useAddress } from '../../ui/use-address.ts'
import { EndpointCache } from '../cache/endpoint-cache.tsx'
import { endpointKind } from '../endpoint-draft.ts'
import { EndpointSettings, NameFields } from '../endpoint-settings.tsx'
import { EndpointUsage } from '../endpoint-usage.tsx'
import { LinkButton } from '../unsaved/link-button.tsx'
import { SidePanel } from '../unsaved/side-panel.tsx'
import { EndpointActions } from './endpoint-actions.tsx'
import { QueryPart } from './query-part.tsx'
import { useWorkbench, type Workbench, type WorkbenchMode } from './use-workbench.ts'

const tabs = [
  ['query', 'Query'],
  ['settings', 'Settings'],
] as const

const savedTabs = [...tabs, ['versions', 'Versions'], ['usage', 'Usage'], ['cache', 'Cache']] as const

type Tab = (typeof savedTabs)[number][0]

const titles = { new: 'New endpoint', playground: 'Playground' }

interface EndpointWorkbenchProps {
  who: Whoami
  saved?: Endpoint
  mode: WorkbenchMode
}

/** Edits an endpoint and runs it, before it is saved as well. */
export function EndpointWorkbench({ who, saved, mode }: EndpointWorkbenchProps) {
  const [address, setAddress] = useAddress()
  const tab = mode === 'playground' ? 'query' : ((address.get('_tab') as Tab | null) ?? 'query')
  const work = useWorkbench({ who, saved, mode, isShown: tab === 'query' })
  const { draft, base, isChanged, isBehind, setDraft, discard, rebase } = work
  useLeaveGuard(isChanged && mode !== 'playground')
  const { data: others } = useQuery({ ...queries.endpoints(), enabled: mode === 'new' })
  const wrongName = mode === 'new' ? nameProblem('endpoint', draft.name, others) : ''
  return (
    <div className="page">
      <PageHead
        title={mode === 'saved' ? (saved?.name ?? '') : titles[mode]}
        badge={
          saved && (
            <>
              <span className="badge">version {saved.version}</span>
              {!saved.published && <span className="badge warn">not published</span>}
            </>
          )
        }
        actions={
          <>
            {!saved && <LinkButton question={work.question} />}
            {mode === 'playground' ? (
              <SaveAsEndpoint work={work} />
            ) : (
              <EndpointActions work={work} hasWrongName={wrongName !== ''} />
            )}
          </>
        }
      >
        {saved ? (
          <>
            <p>{saved.description}</p>
            <Reads endpoint={saved} />
            <Related label="Read by" links={linksTo('endpoints', saved.read_by_endpoints)} />
          </>
        ) : (
          mode === 'playground' && <p>Ask a question in SQL. Save it as an endpoint when it is right.</p>
        )}
      </PageHead>
      {isBehind && base && saved && (
        <Conflict
          kind={endpointKind}
          draft={draft}
          base={base}
          saved={saved}
          onRebase={rebase}
          onDiscard={discard}
        />
      )}
      {mode === 'new' && <NameFields draft={draft} problem={wrongName} onChange={setDraft} />}
      {mode !== 'playground' && (
        <Choices
          label="Part of the endpoint"
          options={saved ? savedTabs : tabs}
          value={tab}
          onChange={(chosen) => setAddress({ _tab: chosen === 'query' ? undefined : chosen })}
        />
      )}
      {tab === 'settings' && <EndpointSettings draft={draft} onChange={setDraft} isNew={!saved} />}
      {tab === 'versions' && saved && <Versions kind={endpointKind} saved={saved} />}
      {tab === 'usage' && saved && <EndpointUsage name={saved.name} />}
      {tab === 'cache' && saved && <EndpointCache saved={saved} />}
      {tab === 'query' &&
        (saved ? (
          <QueryPart work={work} />
        ) : (
          <Unsaved work={work}>
            <QueryPart work={work} hasBigQuery={who.bigquery} />
          </Unsaved>
        ))}
    </div>
  )
}

/** Gives the query a name. The page of new endpoints has the same draft, its values and its rows. */
function SaveAsEndpoint({ work: { isBlank, carry } }: { work: Workbench }) {
  const [address] = useAddress()
  const [, navigate] = useLocation()
  const mayChange = useMayChange()
  const open = () => {
    carry(undefined)
    navigate(`/console/new-endpoint?${address}`)
  }
  if (!mayChange) return null
  return (
    <Button look="small" disabled={isBlank} onClick={open}>
      Save as endpoint
    </Button>
  )
}

/** An unsaved endpoint has the schema and the history beside it. */
function Unsaved({ work, children }: { work: Workbench; children: ReactNode }) {
  const { mode, origin, editor, history, ask } = work
  const [isOpen, setOpen] = useState(() => mode === 'playground' && matchMedia('(min-width: 821px)').matches)
  return (
    <div className={isOpen ? 'playground' : 'playground closed'}>
      <SidePanel
        isOpen={isOpen}
        onToggle={() => setOpen(!isOpen)}
        history={history}
        onChoose={(question) => {
          ask(question)
          editor.current?.focus()
        }}
        onInsert={(name) => editor.current?.insert(name)}
      />
      <div className="stack">
        {origin === 'link' && (
          <p className="note-box" role="status">
            This query comes from a link. Read it before you run it.
          </p>
        )}
        {origin === 'damaged link' && (
          <p className="note-box bad" role="alert">
            The link is damaged, so its query cannot be shown. Copy it again.
          </p>
        )}
        {children}
      </div>
    </div>
  )
}

function useLeaveGuard(active: boolean): void {
  useEffect(() => {
    if (!active) return
    const ask = (event: BeforeUnloadEvent) => event.preventDefault()
    addEventListener('beforeunload', ask)
    return () => removeEventListener('beforeunload', ask)
  }, [active])
}
