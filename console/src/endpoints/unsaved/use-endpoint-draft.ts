import { useCallback, useEffect, useMemo, useState } from 'react'
import type { Endpoint } from '../../api/shapes.ts'
import { type KeptWork, useDraft } from '../../definitions/use-draft.ts'
import { ownAddress } from '../../query/own-address.ts'
import { type EndpointDraft, endpointKind, newDraft } from '../endpoint-draft.ts'
import { askedBy, type Question, questionFor } from './question.ts'
import { fragmentOf, questionOf } from './question-link.ts'

const pauseMs = 400

/** Where an unsaved endpoint came from. A damaged link changes nothing. */
type Origin = 'own' | 'link' | 'damaged link'

/** Unsaved work of pages that were left, until the tab is closed. */
const kept: KeptWork<Endpoint, EndpointDraft> = new Map()
let keptValues: Question['values'] = {}

export const hasUnsaved = (): boolean => kept.has('new')

/** Fills the page of an unsaved endpoint, which is opened next. */
export function startUnsaved(fields: Partial<EndpointDraft>, values: Question['values']): void {
  kept.set('new', { draft: { ...newDraft, ...fields }, base: undefined })
  keptValues = values
}

/** Undefined if the address holds no query. */
function takeLink(): Origin | undefined {
  const found = questionOf(location.hash)
  if (found === undefined) return undefined
  if (found === 'damaged') return 'damaged link'
  const before = kept.get('new')?.draft
  // What a link does not hold, such as a name, stays with its query.
  if (!before || fragmentOf(questionFor(before, keptValues)) !== fragmentOf(found)) {
    startUnsaved(askedBy(found), found.values)
  }
  const state = history.state as Partial<typeof ownAddress> | null
  return state?.playground === ownAddress.playground ? 'own' : 'link'
}

/**
 * The draft of an endpoint. The address follows an unsaved one with the values of its parameters, so that it can be reloaded
 * and shared.
 */
export function useEndpointDraft(saved: Endpoint | undefined, start: EndpointDraft) {
  const isNew = saved === undefined
  const [origin, setOrigin] = useState<Origin>(() => (isNew && takeLink()) || 'own')
  const [values, setValues] = useState(keptValues)
  const drafting = useDraft({ kind: endpointKind, saved, start, kept })
  const { draft, isChanged, setDraft } = drafting
  const question = useMemo(() => questionFor(draft, values), [draft, values])
  const [links, setLinks] = useState(0)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the setters do not change
  useEffect(() => {
    if (!isNew) return
    // Opening another link in the same tab changes only the fragment. The link to the content replaces it.
    const onLink = () => {
      const found = takeLink()
      if (found) setOrigin(found)
      if (found !== 'damaged link' && found) {
        setDraft((now) => kept.get('new')?.draft ?? now)
        setValues(keptValues)
      }
      setLinks((now) => now + 1)
    }
    addEventListener('hashchange', onLink)
    return () => removeEventListener('hashchange', onLink)
  }, [isNew])
  // biome-ignore lint/correctness/useExhaustiveDependencies: another link may have replaced the fragment
  useEffect(() => {
    if (!isNew) return
    keptValues = values
    if (origin !== 'own') return
    const timer = setTimeout(() => {
      const isWorthIt = isChanged || Object.keys(values).length > 0
      const fragment = (isWorthIt && fragmentOf(question)) || ''
      if (fragment === location.hash) return
      history.replaceState(ownAddress, '', `${location.pathname}${location.search}${fragment}`)
    }, pauseMs)
    return () => clearTimeout(timer)
  }, [isNew, isChanged, values, question, origin, links])
  const changeValues = useCallback((changes: Record<string, string | undefined>) => {
    setOrigin('own')
    setValues((now) => {
      const all = Object.entries({ ...now, ...changes })
      return Object.fromEntries(all.filter((pair): pair is [string, string] => !!pair[1]))
    })
  }, [])
  const stored = useMemo(() => new URLSearchParams(values), [values])
  return {
    ...drafting,
    origin,
    question,
    setDraft: (next: EndpointDraft | ((now: EndpointDraft) => EndpointDraft)) => {
      setOrigin('own')
      setDraft(next)
    },
    /** Continues with another query. */
    ask: ({ values: next, ...rest }: Question) => {
      setOrigin('own')
      setDraft((now) => ({ ...now, ...askedBy(rest) }))
      setValues(next)
    },
    adopt: (created: Endpoint) => {
      if (isNew) setValues({})
      drafting.adopt(created)
    },
    /** Where the values of parameters are kept; undefined: in the address. */
    store: isNew ? ([stored, changeValues] as [URLSearchParams, typeof changeValues]) : undefined,
  }
}
