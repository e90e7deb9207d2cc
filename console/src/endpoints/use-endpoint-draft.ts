import { useEffect, useState } from 'react'
import type { Endpoint } from '../api/shapes.ts'
import { changedFields, draftOf, type EndpointDraft, newDraft, rebased } from './endpoint-draft.ts'

interface Work {
  draft: EndpointDraft
  /** The version that the draft started from; undefined for a new endpoint. */
  base: Endpoint | undefined
}

/** Unsaved work of pages that were left, until the tab is closed. */
const unsaved = new Map<string, Work>()

const newKey = 'new'

/** Whether there is an unsaved new endpoint. */
export function hasNewDraft(): boolean {
  return unsaved.has(newKey)
}

/** Fills the page of a new endpoint, which is opened next. */
export function startNewDraft(fields: Partial<EndpointDraft>): void {
  unsaved.set(newKey, { draft: { ...newDraft, ...fields }, base: undefined })
}

/**
 * A draft of an endpoint that outlives leaving the page. A newer version replaces it only if nothing was changed; otherwise
 * the user decides.
 */
export function useEndpointDraft(saved: Endpoint | undefined) {
  const key = saved?.id ?? newKey
  const fresh = (): Work => ({ draft: saved ? draftOf(saved) : newDraft, base: saved })
  const [work, setWork] = useState<Work>(() => unsaved.get(key) ?? fresh())
  const { draft, base } = work
  const isChanged = changedFields(draft, base ? draftOf(base) : newDraft).length > 0

  // biome-ignore lint/correctness/useExhaustiveDependencies: only a newer version matters
  useEffect(() => {
    if (!isChanged && base?.version !== saved?.version) setWork(fresh())
  }, [saved?.version])

  useEffect(() => {
    if (isChanged) unsaved.set(key, work)
    else unsaved.delete(key)
  }, [key, work, isChanged])

  return {
    draft,
    base,
    isChanged,
    /** Whether the current version is newer than the base of the draft. */
    isBehind: isChanged && base !== undefined && saved !== undefined && saved.version > base.version,
    setDraft: (next: EndpointDraft | ((now: EndpointDraft) => EndpointDraft)) =>
      setWork((now) => ({ ...now, draft: typeof next === 'function' ? next(now.draft) : next })),
    /** Continues from the saved version, with the changes since this draft was sent. */
    adopt: (next: Endpoint) => {
      unsaved.delete(key)
      setWork((now) => ({
        draft: saved ? rebased(now.draft, draft, draftOf(next)) : draftOf(next),
        base: next,
      }))
    },
    discard: () => setWork(fresh()),
    /** Applies the changes to the current version. */
    rebase: () => {
      if (!saved || !base) return
      setWork({ draft: rebased(draft, draftOf(base), draftOf(saved)), base: saved })
    },
  }
}
