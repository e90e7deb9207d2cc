import { expect, test } from 'vitest'
import { consolePages } from '../../src/shared/console-pages.ts'
import type { Whoami } from './api/shapes.ts'
import { elsewhere, linksOf, routesOf } from './navigation.ts'

const admin = { admin: true, role: 'admin', query: true, logs: true, dashboards: true } as Whoami
const customer = { ...admin, admin: false, role: null }

test('every page of the console has a name that the service knows', () => {
  const paths = [...routesOf(admin), ...routesOf(customer)].map(([, path]) => path)
  const names = paths.flatMap((path) => /^\/console\/([^/]+)/.exec(path)?.[1] ?? [])
  expect(new Set(names)).toEqual(new Set(consolePages))
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

test('a service without a feature has no page of it', () => {
  const has = (name: string) => name !== 'people' && name !== 'tables'
  expect(routesOf(admin, has).filter(([page]) => /people|table/.test(page))).toEqual([])
  const names = linksOf(admin, true, has).map(({ name }) => name)
  expect(linksOf(admin, true).map(({ name }) => name)).toEqual(
    expect.arrayContaining([...names, 'People', 'Tables']),
  )
  expect(names).not.toContain('Tables')
  expect(names).not.toContain('People')
  expect(elsewhere(admin, '/console/tables/plans', has)).toBe(undefined)
})
