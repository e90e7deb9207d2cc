import { useEffect, useState } from 'react'
import { changedFields, type Definition, type Kind, rebased } from './definition.ts'

interface Work<T, D> {
  draft: D
  /** The version that the draft started from; undefined for a new definition. */
  base: T | undefined
}

/** Unsaved work of pages that were left, until the tab is closed. */
export type KeptWork<T, D> = Map<string, Work<T, D>>

interface DraftOptions<T extends Definition, D extends object> {
  kind: Kind<T, D>
  saved: T | undefined
  /** What a new definition starts with. */
  start: D
  /** Keeps unsaved work by the id of its definition, or as `new`. Without it, work ends with the page. */
  kept?: KeptWork<T, D>
}

/** A newer version replaces a draft only if nothing was changed; otherwise the user decides. */
export function useDraft<T extends Definition, D extends object>(options: DraftOptions<T, D>) {
  const { kind, saved, start, kept } = options
  const { draftOf } = kind
  const key = saved?.id ?? 'new'
  const fresh = (): Work<T, D> => ({ draft: saved ? draftOf(saved) : start, base: saved })
  const [work, setWork] = useState<Work<T, D>>(() => kept?.get(key) ?? fresh())
  const { draft, base } = work
  const isChanged = changedFields(draft, base ? draftOf(base) : start).length > 0

  // biome-ignore lint/correctness/useExhaustiveDependencies: only a newer version matters
  useEffect(() => {
    if (!isChanged && base?.version !== saved?.version) setWork(fresh())
  }, [saved?.version])

  useEffect(() => {
    if (isChanged) kept?.set(key, work)
    else kept?.delete(key)
  }, [kept, key, work, isChanged])

  return {
    draft,
    base,
    isChanged,
    /** Whether the current version is newer than the base of the draft. */
    isBehind: isChanged && base !== undefined && saved !== undefined && saved.version > base.version,
    setDraft: (next: D | ((now: D) => D)) =>
      setWork((now) => ({ ...now, draft: typeof next === 'function' ? next(now.draft) : next })),
    /** Continues from the saved version, with the changes since this draft was sent. */
    adopt: (next: T) => {
      kept?.delete(key)
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
