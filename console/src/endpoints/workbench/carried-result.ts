import { useEffect, useState } from 'react'
import type { CallResult } from '../../api/call-endpoint.ts'

interface CarriedResult {
  /** Undefined for the page of a new endpoint. */
  endpoint: string | undefined
  result: CallResult
  /** The SQL and the values that returned it. */
  ran: string
}

let carried: CarriedResult | undefined

/** Keeps a result for the page of this endpoint, which is opened next. */
export function carryResult(next: CarriedResult): void {
  carried = next
}

export function useCarriedResult(endpoint: string | undefined): CarriedResult | undefined {
  const [found] = useState(() => (carried?.endpoint === endpoint ? carried : undefined))
  useEffect(() => {
    carried = undefined
  }, [])
  return found
}
