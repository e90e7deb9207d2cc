import type { ApiError } from '../../api/api.ts'
import { Button } from '../../ui/button.tsx'
import { suggestedFix } from './suggested-fix.ts'

interface VerdictProps {
  problem: ApiError | undefined
  state: string
  query: string
  onFix: (query: string) => void
}

/** What the check of the SQL found. */
export function Verdict({ problem, state, query, onFix }: VerdictProps) {
  const place = problem?.line === undefined ? '' : `Line ${problem.line}, column ${problem.column ?? 1}: `
  const fix = problem && suggestedFix(query, problem)
  return (
    <>
      <p role="status" className={problem ? 'badge bad verdict' : 'faint'}>
        {problem ? place + problem.message : state || ' '}
      </p>
      {fix && (
        <Button look="small" onClick={() => onFix(fix.query)}>
          Insert {fix.replacement}
        </Button>
      )}
    </>
  )
}
