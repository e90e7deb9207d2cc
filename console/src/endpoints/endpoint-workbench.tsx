import { useQuery } from '@tanstack/react-query'
import { useCallback, useEffect, useMemo, useState } from 'react'
import { AlertOnThis } from '../alerts/alert-on-this.tsx'
import { callEndpoint, previewEndpoint } from '../api/call-endpoint.ts'
import { queries } from '../api/queries.ts'
import type { DraftCheck, Endpoint, Parameters } from '../api/shapes.ts'
import { Choices } from '../ui/choices.tsx'
import { nameProblem } from '../ui/names.ts'
import { PageHead } from '../ui/page-head.tsx'
import { Empty, Waiting } from '../ui/states.tsx'
import { useAddress } from '../ui/use-address.ts'
import { EndpointCache } from './cache/endpoint-cache.tsx'
import { ColumnSuggestions } from './editor/column-suggestions.tsx'
import { SqlEditor } from './editor/sql-editor.tsx'
import { useSqlNames } from './editor/use-sql-names.ts'
import { Verdict } from './editor/verdict.tsx'
import { type SqlWarning, WarningList } from './editor/warning-list.tsx'
import { EndpointActions } from './endpoint-actions.tsx'
import { EndpointConflict } from './endpoint-conflict.tsx'
import { changedFields, draftOf, type EndpointDraft } from './endpoint-draft.ts'
import { EndpointSettings, NameFields } from './endpoint-settings.tsx'
import { EndpointVersions } from './endpoint-versions.tsx'
import { previewFile } from './result/download.tsx'
import { EndpointResult, RowsFromBefore } from './result/endpoint-result.tsx'
import { carryResult, useCarriedResult } from './run/carried-result.ts'
import { LiveToggle } from './run/live-toggle.tsx'
import { RunButton } from './run/parameter-form.tsx'
import { ParameterPanel } from './run/parameter-panel.tsx'
import { useLiveResult } from './run/use-live-result.ts'
import { useParameterValues } from './run/use-parameter-values.ts'
import { type Run, resultOf, useRun } from './run/use-run.ts'
import { EndpointUsage } from './usage/endpoint-usage.tsx'
import { useDraftCheck } from './use-draft-check.ts'
import { useEndpointDraft } from './use-endpoint-draft.ts'

type Tab = 'query' | 'settings' | 'versions' | 'usage' | 'cache'

const tabs: readonly (readonly [Tab, string])[] = [
  ['query', 'Query'],
  ['settings', 'Settings'],
]

const savedTabs: readonly (readonly [Tab, string])[] = [
  ...tabs,
  ['versions', 'Versions'],
  ['usage', 'Usage'],
  ['cache', 'Cache'],
]

const noWarnings: readonly SqlWarning[] = []

/** Edits an endpoint and runs it, before it is saved as well. */
export function EndpointWorkbench({ saved }: { saved: Endpoint | undefined }) {
  const [address, setAddress] = useAddress()
  const { draft, base, isChanged, isBehind, setDraft, adopt, discard, rebase } = useEndpointDraft(saved)
  // Another chart draws the rows of the saved query.
  const isDraft = base === undefined || changedFields(draft, draftOf(base)).some((field) => field !== 'chart')
  const { name, ...fields } = draft
  useLeaveGuard(isChanged)
  const { data: others } = useQuery({ ...queries.endpoints(), enabled: saved === undefined })
  const wrongName = saved ? '' : nameProblem('endpoint', name, others)
  const { checked, used, problem, marked, waiting } = useDraftCheck(draft, true)
  const warnings = (!problem && checked?.warnings) || noWarnings
  const { names, seenAt, isPending } = useSqlNames(draft.query)
  const types = checked?.types
  const parameters = useMemo(
    () => withUndeclared(draft.parameters, used, types),
    [draft.parameters, used, types],
  )
  const parameterValues = useParameterValues(parameters, seenAt, { isPending })
  const { values, missing, change, keep } = parameterValues
  const tab = (address.get('_tab') as Tab | null) ?? 'query'
  const asked = JSON.stringify([draft.query, values])
  const [isTall, setTall] = useState(false)
  const carried = useCarriedResult(saved?.name)
  const [ran, setRan] = useState(carried?.ran ?? asked)
  const runner = useRun(
    async (signal) => {
      live.stop()
      const call = isDraft ? previewEndpoint(fields, values, signal) : callEndpoint(name, values, signal)
      const result = await call
      if (!signal.aborted) setRan(asked)
      return result
    },
    parameterValues,
    {
      asked,
      hasShortcut: tab === 'query',
      auto: !isDraft && tab === 'query',
      first: carried && { state: 'done', result: carried.result },
    },
  )
  const { run, begin, stop, show } = runner
  const showLive = useCallback(
    (shown: Run) => {
      setRan(asked)
      show(shown)
    },
    [asked, show],
  )
  const live = useLiveResult(isDraft || tab !== 'query' ? undefined : draft.name, values, showLive)
  const toggleLive = () => {
    if (live.live !== 'off') return live.stop()
    // A run reports which value is missing.
    if (missing.length > 0) return begin()
    keep()
    live.start()
  }
  const onSaved = (created: Endpoint) => {
    const result = resultOf(run)
    if (created.name !== saved?.name && result) carryResult({ endpoint: created.name, result, ran })
    adopt(created)
  }
  const editorNames = useMemo(
    () => ({ ...names, parameters: [...Object.keys(parameters), 'now'] }),
    [names, parameters],
  )
  return (
    <div className="page">
      <PageHead
        title={saved?.name ?? 'New endpoint'}
        badge={
          saved && (
            <>
              <span className="badge">version {saved.version}</span>
              {!saved.published && <span className="badge warn">not published</span>}
            </>
          )
        }
        actions={
          <EndpointActions
            draft={draft}
            saved={base}
            values={values}
            isChanged={isChanged}
            hasProblem={problem !== undefined}
            hasWrongName={wrongName !== ''}
            isBehind={isBehind}
            onSaved={onSaved}
            onDiscard={discard}
          />
        }
      >
        {saved && <p>{saved.description}</p>}
      </PageHead>
      {isBehind && base && saved && (
        <EndpointConflict draft={draft} base={base} saved={saved} onRebase={rebase} onDiscard={discard} />
      )}
      {!saved && <NameFields draft={draft} problem={wrongName} onChange={setDraft} />}
      <Choices
        label="Part of the endpoint"
        options={saved ? savedTabs : tabs}
        value={tab}
        onChange={(chosen) => setAddress({ _tab: chosen === 'query' ? undefined : chosen })}
      />
      {tab === 'settings' && (
        <EndpointSettings draft={draft} onChange={setDraft} isNew={saved === undefined} />
      )}
      {tab === 'versions' && saved && <EndpointVersions saved={saved} />}
      {tab === 'usage' && saved && <EndpointUsage name={saved.name} />}
      {tab === 'cache' && saved && <EndpointCache saved={saved} />}
      {tab === 'query' && (
        <>
          <div className="workbench">
            <div className={isTall ? 'query-box tall' : 'query-box'}>
              <SqlEditor
                label="SQL of the endpoint"
                height={140}
                value={draft.query}
                onChange={(query) => setDraft((now) => ({ ...now, query }))}
                onRun={begin}
                problem={marked}
                warnings={warnings}
                names={editorNames}
              />
              <div className="query-foot">
                <Verdict
                  problem={problem}
                  query={draft.query}
                  onFix={(query) => setDraft((now) => ({ ...now, query }))}
                  state={!isDraft ? '' : waiting ? 'Checking …' : checked ? 'The query is valid.' : ''}
                />
                <button type="button" className="link" onClick={() => formatQuery(setDraft)}>
                  Format
                </button>
                <button type="button" className="link" aria-pressed={isTall} onClick={() => setTall(!isTall)}>
                  Expand
                </button>
              </div>
              <WarningList warnings={warnings} />
            </div>
            <ParameterPanel
              parameters={parameters}
              declared={draft.parameters}
              used={used}
              values={values}
              problem={runner.problem}
              seenAt={seenAt}
              onValue={change}
              onDeclare={(parameters) => setDraft((now) => ({ ...now, parameters }))}
              onSubmit={begin}
              actions={
                <>
                  {!isDraft && <LiveToggle live={live.live} onToggle={toggleLive} />}
                  <RunButton run={run} stop={stop} />
                </>
              }
            />
          </div>
          {saved && !isDraft && <ColumnSuggestions saved={saved} run={run} />}
          <EndpointResult
            run={run}
            columns={isDraft ? (checked?.columns ?? []) : (saved?.columns ?? [])}
            name={draft.name || 'my-endpoint'}
            hasPlan={!isDraft}
            values={values}
            chart={draft.chart}
            onChart={(chart) => setDraft((now) => ({ ...now, chart }))}
            {...(isDraft && { file: previewFile(fields, values) })}
            idle={
              runner.isStarting ? (
                <Waiting what="the result" height={280} />
              ) : missing.length > 0 ? (
                <NoValue names={missing} />
              ) : undefined
            }
            actions={
              <>
                {ran !== asked && <RowsFromBefore />}
                {saved && !isDraft && <AlertOnThis endpoint={saved} chart={draft.chart} values={values} />}
              </>
            }
          />
        </>
      )}
    </div>
  )
}

/** Why the query was not run. */
function NoValue({ names }: { names: readonly string[] }) {
  return (
    <Empty title="Not run yet">
      <p>Enter a value for {names.join(' and ')}, then run the query.</p>
    </Empty>
  )
}

async function formatQuery(setDraft: (change: (now: EndpointDraft) => EndpointDraft) => void): Promise<void> {
  const { formatSql } = await import('./editor/format-sql.ts')
  setDraft((now) => ({ ...now, query: formatSql(now.query) }))
}

/** Adds parameters that the SQL uses without a declaration, so that they can be tried. */
function withUndeclared(
  declared: Parameters,
  used: readonly string[],
  types: DraftCheck['types'] = {},
): Parameters {
  const missing = used.filter((name) => !Object.hasOwn(declared, name))
  return missing.length === 0
    ? declared
    : { ...declared, ...Object.fromEntries(missing.map((name) => [name, typeOf(types[name])])) }
}

const typeOf = (type: DraftCheck['types'][string] | undefined) => (type ? { type } : {})

function useLeaveGuard(active: boolean): void {
  useEffect(() => {
    if (!active) return
    const ask = (event: BeforeUnloadEvent) => event.preventDefault()
    addEventListener('beforeunload', ask)
    return () => removeEventListener('beforeunload', ask)
  }, [active])
}
