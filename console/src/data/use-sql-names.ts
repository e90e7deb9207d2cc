import { useQueries, useQuery } from '@tanstack/react-query'
import { useCallback, useMemo } from 'react'
import { queries } from './queries.ts'

const columns = ['id', 'timestamp', 'project', 'event_message', 'metadata']
const noSources: Record<string, string[]> = {}

/** Sources, their columns and the paths of metadata that a query can use, and where values of a parameter are seen. */
export function useSqlNames(query: string) {
  const { data: sources } = useQuery(queries.sources())
  const words = useMemo(() => new Set(query.match(/[a-z][a-z0-9_]*/g)), [query])
  // In a WITH many are named; the schema of each costs a query.
  const used = useMemo(
    () => (sources ?? []).filter(({ name }) => words.has(name)).slice(0, 4),
    [sources, words],
  )
  const usedNames = used.map(({ name }) => name).join()
  const schemas = useQueries({ queries: used.map(({ name }) => queries.schema(name)) })
  const read = schemas.map(({ data }) => data?.length ?? -1).join()
  // biome-ignore lint/correctness/useExhaustiveDependencies: the texts tell whether anything of the lists changed
  const paths = useMemo(
    () =>
      used.map(({ name }, index) => ({ name, paths: (schemas[index]?.data ?? []).map(({ path }) => path) })),
    [usedNames, read],
  )
  const names = useMemo(() => {
    if (!sources) return { sources: noSources }
    const all = sources.map(({ name, hot_fields }) => {
      const found = paths.find((one) => one.name === name)?.paths ?? []
      const own = [
        ...columns,
        ...hot_fields.map(({ column }) => column),
        ...found.map((path) => `metadata.${path}`),
      ]
      return [name, own] as const
    })
    return { sources: Object.fromEntries(all) }
  }, [sources, paths])
  const seenAt = useCallback(
    (name: string) => {
      for (const { name: source, paths: known } of paths) {
        if (name === 'project') return { source, path: 'project' }
        const path = known.find((one) => one === name || one.endsWith(`.${name}`))
        if (path !== undefined) return { source, path }
      }
      return undefined
    },
    [paths],
  )
  return { names, seenAt }
}
