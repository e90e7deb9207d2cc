import { useCallback, useMemo, useSyncExternalStore } from 'react'
import { ownKeys } from '../../api/session.ts'
import { watchable } from '../../api/watchable.ts'
import type { Question } from './question.ts'

export type PastQuestion = Question & { at: string }

const maxQuestions = 50
const maxCharacters = 200_000
const watched = watchable()

/** One list per token, by the id of the token, which is not secret. */
const keyOf = (user: string) => ownKeys + user

/** Adds a question in front. The same SQL is listed once, with its newest values. */
export function remembered(list: readonly PastQuestion[], question: Question, at: string): PastQuestion[] {
  const query = question.query.trim()
  const all = [{ ...question, query, at }, ...list.filter((one) => one.query !== query)]
  let characters = 0
  return all.slice(0, maxQuestions).filter((one) => {
    characters += JSON.stringify(one).length
    return characters <= maxCharacters
  })
}

/** Skips what is not a question, because other versions and people may have written the text. */
export function readHistory(text: string | null): PastQuestion[] {
  try {
    const list: unknown = JSON.parse(text ?? '[]')
    return Array.isArray(list) ? list.filter(isPastQuestion).slice(0, maxQuestions) : []
  } catch {
    return []
  }
}

function isPastQuestion(value: unknown): value is PastQuestion {
  const { query, at, values, types } = (value ?? {}) as Record<string, unknown>
  const isTexts = (one: unknown) =>
    typeof one === 'object' && one !== null && Object.values(one).every((text) => typeof text === 'string')
  return (
    typeof query === 'string' && !Number.isNaN(Date.parse(String(at))) && isTexts(values) && isTexts(types)
  )
}

function write(user: string, list: readonly PastQuestion[]): void {
  try {
    if (list.length === 0) localStorage.removeItem(keyOf(user))
    else localStorage.setItem(keyOf(user), JSON.stringify(list))
  } catch {
    // The storage is full or forbidden. A page without a history still works.
  }
  watched.changed()
}

function subscribe(listener: () => void): () => void {
  const stop = watched.subscribe(listener)
  // Other tabs write as well.
  addEventListener('storage', listener)
  return () => {
    stop()
    removeEventListener('storage', listener)
  }
}

/** The user's own questions, newest first. They stay in this browser. */
export function useQueryHistory(user: string) {
  const text = useSyncExternalStore(subscribe, () => localStorage.getItem(keyOf(user)))
  const list = useMemo(() => readHistory(text), [text])
  const change = useCallback(
    (next: (list: readonly PastQuestion[]) => readonly PastQuestion[]) =>
      write(user, next(readHistory(localStorage.getItem(keyOf(user))))),
    [user],
  )
  return {
    list,
    remember: (question: Question) => change((now) => remembered(now, question, new Date().toISOString())),
    remove: (query: string) => change((now) => now.filter((one) => one.query !== query)),
    clear: () => change(() => []),
  }
}
