/** What other features use of alerts. */

export { alertStates } from './alert.ts'
export type { AlertView } from './alert-kind.ts'
