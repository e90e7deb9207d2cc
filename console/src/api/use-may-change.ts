import { useQuery } from '@tanstack/react-query'
import { queries } from './queries.ts'
import { edits } from './rights.ts'

/** Whether the caller can change definitions: sources are for admins. */
export function useMayChange(kind?: string): boolean {
  const { data } = useQuery(queries.whoami())
  return data !== undefined && (kind === 'sources' ? data.admin : edits(data))
}
