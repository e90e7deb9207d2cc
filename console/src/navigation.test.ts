import { expect, test } from 'vitest'
import { consolePages } from '../../src/shared/console-pages.ts'
import type { Whoami } from './api/shapes.ts'
import { elsewhere, linksOf, routesOf } from './navigation.ts'

const admin = { admin: true, role: 'admin', query: true, logs: true, dashboards: true } as Whoami
const customer = { ...admin, admin: false, role: null }

test('every page of the console has a name that the service knows', () => {
  const paths = [...routesOf(admin), ...routesOf(customer)].map(([, path]) => path)
  const names = paths.flatMap((path) => /^\/console\/([^/]+)/.exec(path)?.[1] ?? [])
  expect(new Set(names)).toEqual(new Set(Object.keys(consolePages)))
})

test('links that somebody sees together have distinct icons', () => {
  const tenant = { ...customer, ingest: true }
  for (const links of [linksOf(admin, true), linksOf(tenant, false)]) {
    const icons = links.map(({ icon }) => icon)
    expect(new Set(icons).size).toBe(icons.length)
  }
})

test('a path that others have leads to the first page, and other paths lead nowhere', () => {
  for (const path of ['/', '/console', '/console/projects', '/console/tables/plans', '/console/tokens/']) {
    expect([path, elsewhere(customer, path)]).toEqual([path, '/console/endpoints'])
  }
  for (const path of ['/console/endpoints', '/console/endpointsx', '/console/nothing', '/other']) {
    expect([path, elsewhere(customer, path)]).toEqual([path, undefined])
  }
})

test.each([
  ['alerts', 'Alerts', ['/console/alerts', '/console/alerts/:name']],
  ['audit', 'Audit', ['/console/audit']],
  ['dashboards', 'Dashboards', ['/console/dashboards', '/console/dashboards/:name']],
  ['people', 'People', ['/console/people']],
  ['plans', 'Projects', ['/console/projects', '/console/projects/:name']],
  ['tables', 'Tables', ['/console/tables', '/console/tables/:name']],
] as const)('a service without %s has no page of it', (feature, name, paths) => {
  const has = (other: string) => other !== feature
  const pathsIn = (found = routesOf(admin)) => found.map(([, path]) => path as string)
  const left = pathsIn(routesOf(admin, has))
  expect(pathsIn().filter((path) => !left.includes(path))).toEqual(paths)
  const names = linksOf(admin, true).map((link) => link.name as string)
  expect(linksOf(admin, true, has).map((link) => link.name)).toEqual(names.filter((one) => one !== name))
  for (const path of [paths[0], `${paths[0]}/x`]) {
    expect([elsewhere(customer, path), elsewhere(customer, path, has)]).toEqual([
      '/console/endpoints',
      undefined,
    ])
  }
})
