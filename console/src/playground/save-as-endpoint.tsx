import { useState } from 'react'
import { useLocation } from 'wouter'
import { hasNewDraft, startNewDraft } from '../endpoints/use-endpoint-draft.ts'
import { Confirm } from '../ui/dialog.tsx'
import { declaredParameters, parametersIn, type Question } from './question.ts'

/** Opens the page of a new endpoint with the SQL and its parameters, declared with the types of their values. */
export function SaveAsEndpoint({ question }: { question: Question }) {
  const [, navigate] = useLocation()
  const [isAsking, setAsking] = useState(false)
  const { query, values } = question
  const open = () => {
    startNewDraft({ query: query.trim(), parameters: declaredParameters(question) })
    const used = parametersIn(query).flatMap((name) =>
      Object.hasOwn(values, name) ? [[name, values[name] as string]] : [],
    )
    navigate(`/console/new-endpoint?${new URLSearchParams(used)}`)
  }
  return (
    <>
      <button
        type="button"
        className="button small"
        disabled={query.trim() === ''}
        onClick={() => (hasNewDraft() ? setAsking(true) : open())}
      >
        Save as endpoint
      </button>
      {isAsking && (
        <Confirm
          title="Replace the unsaved endpoint?"
          action="Replace"
          mutation={{ isPending: false, error: null, mutate: open }}
          onClose={() => setAsking(false)}
        >
          <p>The page of new endpoints has changes that are not saved. They are replaced by this query.</p>
        </Confirm>
      )}
    </>
  )
}
