import { type RefObject, useCallback, useMemo, useRef, useState } from 'react'
import { parametersIn } from '../../../../src/shared/sql-tokens.ts'
import { callEndpoint, previewEndpoint } from '../../api/call-endpoint.ts'
import type { DraftCheck, Endpoint, Parameters, Whoami } from '../../api/shapes.ts'
import { changedFields } from '../../definitions/definition.ts'
import { useLiveResult } from '../../live/use-live-result.ts'
import type { SqlEditorControl } from '../../query/editor/sql-editor-view.tsx'
import { useSqlNames } from '../../query/editor/use-sql-names.ts'
import type { SqlWarning } from '../../query/editor/warning-list.tsx'
import { type FileRequest, previewFile } from '../../query/result/download.tsx'
import { useParameterValues } from '../../query/run/use-parameter-values.ts'
import { type Run, resultOf, useRun } from '../../query/run/use-run.ts'
import { useSettled } from '../../query/use-settled.ts'
import { type EndpointDraft, endpointKind, newDraft } from '../endpoint-draft.ts'
import { useQueryHistory } from '../unsaved/query-history.ts'
import { declaredParameters, questionFor, triedParameters } from '../unsaved/question.ts'
import { useEndpointDraft } from '../unsaved/use-endpoint-draft.ts'
import { carryResult, useCarriedResult } from './carried-result.ts'
import { useDraftCheck } from './use-draft-check.ts'

/** A playground is an unsaved endpoint that has no name yet. */
export type WorkbenchMode = 'saved' | 'new' | 'playground'

interface WorkbenchOptions {
  who: Whoami
  saved: Endpoint | undefined
  mode: WorkbenchMode
  /** Whether the page shows the query. */
  isShown: boolean
}

const blankDraft: EndpointDraft = { ...newDraft, query: '', parameters: {} }
const pauseMs = 350
const noWarnings: readonly SqlWarning[] = []
/** The page shows fewer. */
const maxFileRows = 10_000

/** The state of the page that edits an endpoint and runs it, before it is saved as well. */
export function useWorkbench({ who, saved, mode, isShown }: WorkbenchOptions) {
  const isNew = saved === undefined
  const editor: RefObject<SqlEditorControl | null> = useRef(null)
  const history = useQueryHistory(who.id)
  const drafting = useEndpointDraft(saved, mode === 'playground' ? blankDraft : newDraft)
  const { draft, base, store, adopt } = drafting
  const { query, parameters: declared } = draft
  const isBlank = query.trim() === ''
  // Another chart draws the rows of the saved query.
  const isDraft =
    base === undefined || changedFields(draft, endpointKind.draftOf(base)).some((field) => field !== 'chart')
  // The fields of a saved endpoint do not change with each letter.
  const settled = useSettled(query, pauseMs)
  const read = isNew ? query : settled
  const used = useMemo(() => parametersIn(read, true), [read])
  const { names, seenAt, isPending } = useSqlNames(query)
  const required = useMemo(() => withUndeclared(declared, used, isNew), [declared, used, isNew])
  const parameterValues = useParameterValues(required, seenAt, { isPending, ...(store && { store }) })
  const { values } = parameterValues
  const tried = useMemo(
    () => (isNew ? { ...draft, parameters: triedParameters(draft, values) } : draft),
    [isNew, draft, values],
  )
  const check = useDraftCheck(tried)
  const types = check.checked?.types
  const parameters = useMemo(
    () => withUndeclared(declared, used, isNew, types),
    [declared, used, isNew, types],
  )
  const warnings = useMemo(() => {
    const all = (!check.problem && check.checked?.warnings) || noWarnings
    // Parameters of an unsaved endpoint are declared when it is saved.
    return isNew ? all.filter(({ code }) => code !== 'undeclared_parameter') : all
  }, [isNew, check.problem, check.checked])
  const asked = JSON.stringify([query, values])
  const carried = useCarriedResult(saved?.name)
  const [ran, setRan] = useState<{ asked: string; file?: FileRequest }>({ asked: carried?.ran ?? asked })
  const { name, ...fields } = tried
  const file = previewFile(isNew ? { ...fields, max_rows: maxFileRows } : fields, values)
  const runner = useRun(
    async (signal) => {
      live.stop()
      if (isNew) history.remember(questionFor(draft, values))
      const call = isDraft ? previewEndpoint(fields, values, signal) : callEndpoint(name, values, signal)
      const result = await call
      // A run that is stopped leaves the rows of the one before.
      if (!signal.aborted) setRan({ asked, file })
      return result
    },
    parameterValues,
    {
      asked: asked + JSON.stringify(declared),
      hasShortcut: isShown && !isBlank,
      auto: !isDraft && isShown,
      first: carried && { state: 'done', result: carried.result },
    },
  )
  const { run, begin, show } = runner
  const showLive = useCallback(
    (shown: Run) => {
      setRan({ asked })
      show(shown)
    },
    [asked, show],
  )
  const live = useLiveResult(isDraft || !isShown ? undefined : name, parameterValues, showLive, begin)
  /** Shows the rows on the page that is opened next, too. */
  const carry = (endpoint: string | undefined) => {
    const result = resultOf(run)
    if (result) carryResult({ endpoint, result, ran: ran.asked })
  }
  return {
    ...drafting,
    ...check,
    ...parameterValues,
    mode,
    saved,
    isBlank,
    isDraft,
    /** What is saved. */
    complete: useMemo(
      () => (isNew ? { ...draft, parameters: declaredParameters(draft, values) } : draft),
      [isNew, draft, values],
    ),
    parameters,
    used,
    seenAt,
    warnings,
    editor,
    history,
    /** Names that the editor completes. */
    names: useMemo(
      () => ({ ...names, parameters: [...Object.keys(parameters), 'now'] }),
      [names, parameters],
    ),
    runner,
    begin: () => {
      if (!isBlank) begin()
    },
    isEdited: ran.asked !== asked,
    file: isDraft ? (ran.file ?? file) : undefined,
    live,
    carry,
    adopt: (created: Endpoint) => {
      if (created.name !== saved?.name) carry(created.name)
      adopt(created)
    },
  }
}

export type Workbench = ReturnType<typeof useWorkbench>

/**
 * Adds parameters that the SQL uses without a declaration, so that they can be tried. In an unsaved endpoint, a type that
 * follows from the value does not change the field, which would take the focus away while the user types.
 */
function withUndeclared(
  declared: Parameters,
  used: readonly string[],
  isNew: boolean,
  types: DraftCheck['types'] = {},
): Parameters {
  const declare = (name: string) => (isNew ? { required: true } : types[name] ? { type: types[name] } : {})
  const missing = used.filter((name) => !Object.hasOwn(declared, name))
  if (missing.length === 0) return declared
  return { ...declared, ...Object.fromEntries(missing.map((name) => [name, declare(name)])) }
}
