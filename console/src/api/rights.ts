import { useQuery } from '@tanstack/react-query'
import { queries } from './queries.ts'
import type { Whoami } from './shapes.ts'

/** What is offered follows the role. The service checks it again. */
export const reads = ({ role }: Whoami): boolean => role !== null
export const edits = ({ role }: Whoami): boolean => role === 'admin' || role === 'editor'

/** Whether the caller can change definitions: sources are for admins. */
export function useMayChange(kind?: string): boolean {
  const { data } = useQuery(queries.whoami())
  return data !== undefined && (kind === 'sources' ? data.admin : edits(data))
}
