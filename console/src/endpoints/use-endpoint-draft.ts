import { useEffect, useState } from 'react'
import type { Endpoint } from '../api/api-types.ts'
import { changedFields, draftOf, type EndpointDraft, newDraft, rebased } from './endpoint-draft.ts'

interface Work {
  draft: EndpointDraft
  /** The version that the draft was made from; undefined for an endpoint that is not there yet. */
  base: Endpoint | undefined
}

/** Work that was left without saving it, until the tab is closed. */
const left = new Map<string, Work>()

/**
 * A draft of an endpoint, which outlives leaving the page. A newer version takes its place only where nothing was
 * written; otherwise the writer chooses.
 */
export function useEndpointDraft(saved: Endpoint | undefined) {
  const key = saved?.id ?? 'new'
  const fresh = (): Work => ({ draft: saved ? draftOf(saved) : newDraft, base: saved })
  const [work, setWork] = useState<Work>(() => left.get(key) ?? fresh())
  const { draft, base } = work
  const isChanged = changedFields(draft, base ? draftOf(base) : newDraft).length > 0

  // biome-ignore lint/correctness/useExhaustiveDependencies: only a newer version matters
  useEffect(() => {
    if (!isChanged && base?.version !== saved?.version) setWork(fresh())
  }, [saved?.version])

  useEffect(() => {
    if (isChanged) left.set(key, work)
    else left.delete(key)
  }, [key, work, isChanged])

  return {
    draft,
    base,
    isChanged,
    /** Whether a version is in use that is newer than the one the draft was made from. */
    isBehind: isChanged && base !== undefined && saved !== undefined && saved.version > base.version,
    setDraft: (next: EndpointDraft | ((now: EndpointDraft) => EndpointDraft)) =>
      setWork((now) => ({ ...now, draft: typeof next === 'function' ? next(now.draft) : next })),
    /** What the service answered to saving it. */
    adopt: (made: Endpoint) => {
      left.delete(key)
      setWork({ draft: draftOf(made), base: made })
    },
    discard: () => setWork(fresh()),
    /** Puts what was written on top of the version in use. */
    rebase: () => {
      if (!saved || !base) return
      setWork({ draft: rebased(draft, draftOf(base), draftOf(saved)), base: saved })
    },
  }
}
