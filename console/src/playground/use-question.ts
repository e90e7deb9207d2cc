import { useEffect, useState } from 'react'
import { noQuestion, type Question } from './question.ts'
import { fragmentOf, questionOf } from './question-link.ts'

const pauseMs = 400

/** Where the question came from. A damaged link leaves the question as it was. */
type Origin = 'own' | 'link' | 'damaged link'

interface Work {
  question: Question
  origin: Origin
}

/** Questions of users who left the page, until the tab is closed. */
const left = new Map<string, Question>()

/** Marks addresses that this page wrote, so that reloading is not mistaken for opening a link. */
const own = { playground: 'own' }

function fromAddress(now: Question): Work | undefined {
  const found = questionOf(location.hash)
  if (found === undefined) return undefined
  if (found === 'damaged') return { question: now, origin: 'damaged link' }
  const state = history.state as Partial<typeof own> | null
  return { question: found, origin: state?.playground === own.playground ? 'own' : 'link' }
}

/** The question on the page. The address follows it, so that it can be reloaded and shared. */
export function useQuestion(user: string) {
  const [work, setWork] = useState<Work>(() => {
    const before = left.get(user) ?? noQuestion
    return fromAddress(before) ?? { question: before, origin: 'own' }
  })
  const { question, origin } = work
  useEffect(() => {
    // Opening another link in the same tab changes only the fragment. The link to the content replaces it.
    const onLink = () => setWork((now) => fromAddress(now.question) ?? { ...now })
    addEventListener('hashchange', onLink)
    return () => removeEventListener('hashchange', onLink)
  }, [])
  useEffect(() => {
    const { question, origin } = work
    left.set(user, question)
    if (origin !== 'own') return
    const timer = setTimeout(() => {
      const fragment = fragmentOf(question) ?? ''
      if (fragment === location.hash) return
      history.replaceState(own, '', `${location.pathname}${location.search}${fragment}`)
    }, pauseMs)
    return () => clearTimeout(timer)
  }, [user, work])
  return {
    question,
    origin,
    change: (next: (now: Question) => Question) =>
      setWork((now) => ({ question: next(now.question), origin: 'own' })),
  }
}
