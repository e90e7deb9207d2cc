import type { ApiError } from '../../api/api.ts'

interface VerdictProps {
  problem: ApiError | undefined
  state: string
}

/** What the check of the SQL found. */
export function Verdict({ problem, state }: VerdictProps) {
  const place = problem?.line === undefined ? '' : `Line ${problem.line}, column ${problem.column ?? 1}: `
  return (
    <p role="status" className={problem ? 'badge bad verdict' : 'faint'}>
      {problem ? place + problem.message : state || ' '}
    </p>
  )
}
