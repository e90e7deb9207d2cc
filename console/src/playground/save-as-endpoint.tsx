import { NewDraftButton } from '../endpoints/new-draft-button.tsx'
import { parametersIn } from '../endpoints/run/sql-parameters.ts'
import { declaredParameters, type Question } from './question.ts'

/** Opens the page of a new endpoint with the SQL and its parameters, declared with the types of their values. */
export function SaveAsEndpoint({ question }: { question: Question }) {
  const { query, values } = question
  const used = parametersIn(query).flatMap((name) =>
    Object.hasOwn(values, name) ? [[name, values[name] as string]] : [],
  )
  return (
    <NewDraftButton
      label="Save as endpoint"
      className="button small"
      disabled={query.trim() === ''}
      fields={{ query: query.trim(), parameters: declaredParameters(question) }}
      values={Object.fromEntries(used)}
    />
  )
}
