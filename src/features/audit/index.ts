/** What other features use of audit. */
export type { Audit } from './audit.ts'
