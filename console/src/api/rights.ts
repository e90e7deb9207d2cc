import type { Whoami } from './shapes.ts'

/** What is offered follows the role. The service checks it again. */
export const reads = ({ role }: Whoami): boolean => role !== null
export const edits = ({ role }: Whoami): boolean => role === 'admin' || role === 'editor'
