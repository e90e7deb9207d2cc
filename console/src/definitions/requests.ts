import { ApiError, api, at } from '../api/api.ts'
import { queryClient } from '../api/queries.ts'
import type { Definition } from './definition.ts'

interface InPath {
  path: string
}

const pathOf = ({ path }: InPath, { id }: Definition) => `/api/${path}/${at(id)}`

export function createDefinition<T extends Definition>(
  { path }: InPath,
  body: object,
  breaking = false,
): Promise<T> {
  return api<T>(`/api/${path}${breaking ? '?breaking=true' : ''}`, { body })
}

/** Changes fields of this version. A newer one is an error, and is fetched. */
export function changeDefinition<T extends Definition>(
  kind: InPath,
  saved: T,
  body: object,
  query: Record<string, string> = {},
): Promise<T> {
  return guarded<T>(kind, saved, 'PATCH', `?${new URLSearchParams(query)}`, body)
}

export function restoreVersion<T extends Definition>(
  kind: InPath,
  saved: T,
  version: number,
  breaking: boolean,
): Promise<T> {
  return guarded<T>(kind, saved, 'POST', `/versions/${version}/restore${breaking ? '?breaking=true' : ''}`)
}

export function deleteDefinition(kind: InPath, saved: Definition, breaking = false): Promise<void> {
  return api(`${pathOf(kind, saved)}${breaking ? '?breaking=true' : ''}`, { method: 'DELETE' })
}

async function guarded<T extends Definition>(
  kind: InPath,
  saved: T,
  method: string,
  rest: string,
  body?: object,
): Promise<T> {
  try {
    const headers = { 'If-Match': `"${saved.version}"` }
    return await api<T>(pathOf(kind, saved) + rest, { method, headers, ...(body && { body }) })
  } catch (error) {
    if (isConflict(error)) queryClient.invalidateQueries({ queryKey: [kind.path, saved.name] })
    throw error
  }
}

/** Whether a newer version was saved in the meantime. */
export const isConflict = (error: unknown): boolean => error instanceof ApiError && error.status === 412

/** The changes that would break callers, if that is why the service refused. */
export const breakingChanges = (error: unknown) => (error instanceof ApiError ? error.changes : undefined)
