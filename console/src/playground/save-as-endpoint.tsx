import type { CallResult } from '../api/call-endpoint.ts'
import { NewDraftButton } from '../endpoints/new-draft-button.tsx'
import type { Chart } from '../endpoints/result/chart-choice.ts'
import { carryResult } from '../endpoints/run/carried-result.ts'
import { parametersIn } from '../endpoints/run/sql-parameters.ts'
import { useAddress } from '../ui/use-address.ts'
import { declaredParameters, type Question } from './question.ts'

/** A result, and the question that was run. */
export interface ShownResult {
  result: CallResult
  ran: Question
}

interface SaveAsEndpointProps {
  question: Question
  /** What the page shows now. */
  shown: () => ShownResult | undefined
  chart: Chart | null
}

/** Opens the page of a new endpoint with the SQL, its parameters, its rows and its chart. */
export function SaveAsEndpoint({ question, shown, chart }: SaveAsEndpointProps) {
  const [address] = useAddress()
  const { query, values } = question
  const used = parametersIn(query).flatMap((name) =>
    Object.hasOwn(values, name) ? [[name, values[name] as string]] : [],
  )
  const view = address.get('_view')
  const carry = () => {
    const { result, ran } = shown() ?? {}
    if (!result || !ran) return
    carryResult({ endpoint: undefined, result, ran: JSON.stringify([ran.query.trim(), ran.values]) })
  }
  return (
    <NewDraftButton
      label="Save as endpoint"
      className="button small"
      disabled={query.trim() === ''}
      fields={{ query: query.trim(), parameters: declaredParameters(question), chart }}
      values={{ ...Object.fromEntries(used), ...(view !== null && { _view: view }) }}
      onOpen={carry}
    />
  )
}
