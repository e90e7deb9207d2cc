import { useQueries, useQuery } from '@tanstack/react-query'
import { useCallback, useMemo } from 'react'
import { queries } from '../../api/queries.ts'
import type { Usage } from '../../api/shapes.ts'
import { sourcesRead } from './sources-read.ts'
import { metadataColumn } from './sql-dialect.ts'

const columns = ['id', 'timestamp', 'project', 'event_message', 'metadata']
const none: string[] = []
const namesOf = (list: readonly { name: string }[]) => list.map(({ name }) => name)

/** The schema of each source costs a query. */
const maxSchemas = 4

function largestSources({ sources }: Usage): string[] {
  const filled = sources.filter(({ entries }) => entries > 0)
  return filled
    .toSorted((one, other) => other.entries - one.entries)
    .slice(0, maxSchemas)
    .map(({ name }) => name)
}

/** The sources, columns and paths of metadata that a query can use, and where values of a parameter occur. */
export function useSqlNames(query: string) {
  const { data: sources, isPending } = useQuery(queries.sources())
  const { data: tables } = useQuery(queries.tables())
  const { data: endpoints } = useQuery(queries.endpoints())
  const known = useMemo(() => new Set(sources?.map(({ name }) => name)), [sources])
  const named = useMemo(() => sourcesRead(query, known).slice(0, maxSchemas), [query, known])
  // Before a FROM is written, the largest sources are suggested.
  const isOpen = named.length === 0 && known.size > 0 && /\bmetadata\b/.test(query)
  const { data: largest } = useQuery({
    ...queries.usage(),
    enabled: isOpen,
    refetchInterval: false,
    staleTime: 60_000,
    select: largestSources,
  })
  const used = isOpen ? (largest ?? none) : named
  const usedNames = used.join()
  const schemas = useQueries({ queries: used.map((name) => queries.schema(name)) })
  const read = schemas.map(({ data }) => data?.length ?? -1).join()
  // biome-ignore lint/correctness/useExhaustiveDependencies: the texts change when the lists change
  const paths = useMemo(
    () => used.map((name, index) => ({ name, paths: schemas[index]?.data ?? [] })),
    [usedNames, read],
  )
  const names = useMemo(
    () => ({
      sources: Object.fromEntries([
        ...(sources ?? []).map(({ name, columns: typed }) => [name, [...columns, ...namesOf(typed)]]),
        ...(tables ?? []).map(({ name, stored_columns: own }) => [name, namesOf(own)]),
      ]),
      paths: paths.flatMap((one) =>
        one.paths.map(({ path, cast }) => ({ label: metadataColumn(path), cast })),
      ),
      endpoints: namesOf(endpoints ?? []),
    }),
    [sources, tables, paths, endpoints],
  )
  const seenAt = useCallback(
    (name: string) => {
      for (const { name: source, paths: known } of paths) {
        if (name === 'project') return { source, path: 'project' }
        const found = known.find(({ path }) => path === name || path.endsWith(`.${name}`))
        if (found) return { source, path: found.path }
      }
      return undefined
    },
    [paths],
  )
  return { names, seenAt, isPending: isPending || schemas.some((schema) => schema.isPending) }
}
