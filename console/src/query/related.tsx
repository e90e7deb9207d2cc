import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { queries } from '../api/queries.ts'
import type { Endpoint } from '../api/shapes.ts'
import { namesRead } from './editor/sources-read.ts'

type Named = readonly [path: string, name: string]

/** Pages of definitions of a kind. */
export const linksTo = (kind: 'endpoints' | 'sources' | 'tables', names: readonly string[]): Named[] =>
  names.map((name) => [`/console/${kind}/${encodeURIComponent(name)}`, name])

/** Links to what a definition works with. */
export function Related({ label, links }: { label: string; links: readonly Named[] }) {
  if (links.length === 0) return null
  return (
    <p className="soft">
      {label}:{' '}
      {links.map(([path, name], index) => (
        <span key={path}>
          {index > 0 && ', '}
          <Link href={path}>{name}</Link>
        </span>
      ))}
    </p>
  )
}

/** The sources, tables and endpoints that an endpoint reads. */
export function Reads({ endpoint: { query, reads_endpoints } }: { endpoint: Endpoint }) {
  const { data: sources = [] } = useQuery(queries.sources())
  const { data: tables = [] } = useQuery(queries.tables())
  const links = [
    ...linksTo('sources', namesRead(query, namesOf(sources))),
    ...linksTo('tables', namesRead(query, namesOf(tables))),
    ...linksTo('endpoints', reads_endpoints),
  ]
  return <Related label="Reads" links={links} />
}

const namesOf = (list: readonly { name: string }[]) => new Set(list.map(({ name }) => name))
