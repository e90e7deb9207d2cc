import { consolePages } from '../../src/shared/console-pages.ts'
import { hasFeature } from './api/features.ts'
import { edits, reads } from './api/rights.ts'
import type { Whoami } from './api/shapes.ts'

type Allowed = (who: Whoami) => boolean
const everyone: Allowed = () => true
const admins: Allowed = ({ admin }) => admin
const others: Allowed = ({ role }) => role === null

/** Every page, its path, and who has it. */
const routes = [
  ['api', '/docs', everyone],
  ['endpoints', '/console/endpoints', everyone],
  ['endpoint', '/console/endpoints/:name', everyone],
  ['dashboards', '/console/dashboards', ({ dashboards }: Whoami) => dashboards],
  ['dashboard', '/console/dashboards/:name', ({ dashboards }: Whoami) => dashboards],
  ['logs', '/console/logs', ({ logs }: Whoami) => logs],
  ['usage', '/console/usage', (who: Whoami) => who.query && others(who)],
  ['send', '/console/sources', (who: Whoami) => who.ingest && others(who)],
  ['overview', '/', reads],
  ['overview', '/console/', reads],
  ['new-endpoint', '/console/new-endpoint', edits],
  ['playground', '/console/playground', reads],
  ['alerts', '/console/alerts', reads],
  ['alert', '/console/alerts/:name', reads],
  ['sources', '/console/sources', reads],
  ['source', '/console/sources/:name', reads],
  ['tables', '/console/tables', reads],
  ['table', '/console/tables/:name', reads],
  ['projects', '/console/projects', reads],
  ['project', '/console/projects/:name', reads],
  ['audit', '/console/audit', admins],
  ['people', '/console/people', admins],
  ['tokens', '/console/tokens', admins],
  ['token', '/console/tokens/:name', admins],
] as const satisfies readonly (readonly [page: string, path: string, isFor: Allowed])[]

export type Page = (typeof routes)[number][0]

/** Whether the service lacks the feature that a path belongs to. */
const isMissing = (path: string, has: (feature: string) => boolean): boolean => {
  const [, page = ''] = /^\/console\/([^/]+)/.exec(path) ?? []
  const feature = consolePages[page] ?? null
  return feature !== null && !has(feature)
}

export const routesOf = (who: Whoami, has = hasFeature) =>
  routes.filter(([, path, isFor]) => isFor(who) && !isMissing(path, has))

const links = [
  { path: '/', name: 'Overview', icon: 'overview' },
  { path: '/console/endpoints', name: 'Endpoints', icon: 'endpoints' },
  { path: '/console/playground', name: 'Playground', icon: 'playground' },
  { path: '/console/logs', name: 'Logs', icon: 'logs' },
  { path: '/console/dashboards', name: 'Dashboards', icon: 'dashboards' },
  { path: '/console/alerts', name: 'Alerts', icon: 'alerts' },
  { path: '/console/usage', name: 'Usage', icon: 'usage' },
  { path: '/console/sources', name: 'Sources', icon: 'sources' },
  { path: '/console/sources', name: 'Send logs', icon: 'send' },
  { path: '/console/tables', name: 'Tables', icon: 'tables' },
  { path: '/console/projects', name: 'Projects', icon: 'projects' },
  { path: '/console/tokens', name: 'Tokens', icon: 'tokens' },
  { path: '/console/people', name: 'People', icon: 'people' },
  { path: '/console/audit', name: 'Audit', icon: 'audit' },
] as const

/** Links to pages that only admins have. */
const ofAdmins = ['Tokens', 'People', 'Audit']

/** The links of the navigation. Without an issuer, there are no people. */
export function linksOf(who: Whoami, hasIssuer: boolean, has = hasFeature) {
  const { admin, role, query, ingest, logs, dashboards } = who
  const ofOthers = { Endpoints: query, Dashboards: dashboards, Logs: logs, Usage: query, 'Send logs': ingest }
  return links.filter(({ name, path }) => {
    if (isMissing(path, has)) return false
    if (role === null) return ofOthers[name as keyof typeof ofOthers]
    const isOfOthers = name === 'Usage' || name === 'Send logs'
    return !isOfOthers && (admin || !ofAdmins.includes(name)) && (hasIssuer || name !== 'People')
  })
}

/** Where a caller begins. */
export const homeOf = (who: Whoami): string => linksOf(who, false)[0]?.path ?? '/console/endpoints'

/** Pages that another caller may have. */
const isForOthers = new RegExp(
  `^/(?:console/?)?$|^/console/(?:${Object.keys(consolePages)
    .filter((name) => name !== 'endpoints')
    .join('|')})(?:/|$)`,
)

/** Where somebody goes from a path without a page for them; undefined if nobody has one. */
export const elsewhere = (who: Whoami, path: string, has = hasFeature): string | undefined =>
  isForOthers.test(path) && !isMissing(path, has) ? homeOf(who) : undefined
