import { useEffect, useRef, useState } from 'react'
import { ApiError, api } from '../../api/api.ts'
import { hasFeature } from '../../api/features.ts'
import type { ContractChange, Endpoint, Replay } from '../../api/shapes.ts'
import { changedFields } from '../../definitions/definition.ts'
import {
  breakingChanges,
  changeDefinition,
  createDefinition,
  isConflict,
} from '../../definitions/requests.ts'
import { isNoteworthy, replaySummary } from '../../replay/replay-summary.ts'
import { type EndpointDraft, endpointKind } from '../endpoint-draft.ts'

/** Fields that decide which rows a request gets. */
const replayed: readonly (keyof EndpointDraft)[] = ['query', 'parameters', 'max_rows']

type SaveQuestion =
  | { kind: 'replay'; replay: Replay }
  | { kind: 'no-replay'; failure: Error }
  | { kind: 'breaking'; changes: readonly ContractChange[] }
  | { kind: 'publish' }

interface SaveState {
  busy?: 'trying' | 'saving'
  /** What the user is asked before the draft is saved. */
  question?: SaveQuestion
  error?: Error
  /** What recent requests showed. */
  note?: string
}

interface SaveChoices {
  breaking?: boolean
  /** Of a new endpoint. */
  published?: boolean
  note?: string
}

interface SaveOptions {
  draft: EndpointDraft
  /** Undefined for a new endpoint. */
  saved: Endpoint | undefined
  /** What the author says about the change; may be empty. */
  versionNote: string
  onSaved: (saved: Endpoint) => void
}

/**
 * Saves a draft. A change of the rows is first tried with recent requests; the user is asked if it affects them, or if
 * the service refuses it as breaking.
 */
export function useSave({ draft, saved, versionNote, onSaved }: SaveOptions) {
  const [state, setState] = useState<SaveState>({})
  const trial = useRef<AbortController>(undefined)
  // A result belongs to the draft that was tried.
  // biome-ignore lint/correctness/useExhaustiveDependencies: every change of the draft ends the trial
  useEffect(() => () => trial.current?.abort(), [draft])

  const save = async ({ breaking = false, note, published = draft.published }: SaveChoices = {}) => {
    trial.current?.abort()
    setState(({ question }) => ({ busy: 'saving', ...(question && { question }) }))
    const said = versionNote.trim()
    const query = { ...(breaking && { breaking: 'true' }), ...(said !== '' && { note: said }) }
    try {
      const created = saved
        ? await changeDefinition(endpointKind, saved, draft, query)
        : await createDefinition<Endpoint>(endpointKind, { ...draft, published })
      setState(note === undefined ? {} : { note })
      onSaved(created)
    } catch (thrown) {
      const error = thrown as Error
      const changes = breakingChanges(error)
      if (changes) return setState({ question: { kind: 'breaking', changes } })
      setState(({ question }) => ({ error, ...(question && !isConflict(error) && { question }) }))
    }
  }

  const tryRequests = async (showValues: boolean) => {
    trial.current?.abort()
    trial.current = new AbortController()
    const { signal } = trial.current
    setState(({ question }) => ({ busy: 'trying', ...(showValues && question && { question }) }))
    try {
      const path = `/api/endpoints/${saved?.id}/replay`
      const body = { endpoint: draft, show_values: showValues }
      const replay = await api<Replay>(path, { body, signal })
      signal.throwIfAborted()
      if (showValues || replay.requests.some(isNoteworthy)) {
        return setState({ question: { kind: 'replay', replay } })
      }
      await save({ note: replaySummary(replay) })
    } catch (error) {
      if (signal.aborted) return setState((now) => (now.busy === 'trying' ? {} : now))
      // Saving reports what is wrong with the draft.
      if (error instanceof ApiError && [400, 404, 422].includes(error.status)) return save()
      setState({ question: { kind: 'no-replay', failure: error as Error } })
    }
  }

  const start = () => {
    if (!saved) return setState({ question: { kind: 'publish' } })
    const changed = changedFields(draft, endpointKind.draftOf(saved))
    const isReplayed = hasFeature('replay') && changed.some((field) => replayed.includes(field))
    return isReplayed ? tryRequests(false) : save()
  }
  return { ...state, start, save, showValues: () => tryRequests(true), cancel: () => setState({}) }
}
