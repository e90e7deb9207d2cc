import { expect, test } from 'vitest'
import type { Kind, NextDefinitions, Saved } from './kind.ts'
import { refuseSharedNames } from './shared-names.ts'
import type { Step } from './step.ts'

const sources = { name: 'source', folder: 'sources', isReadBySql: true } as Kind
const endpoints = { name: 'endpoint', folder: 'endpoints', isReadBySql: true } as Kind
const alerts = { name: 'alert', folder: 'alerts' } as Kind

const saved = (name: string, aliases: string[] = []) => ({ id: name, name, aliases }) as unknown as Saved
const stepOf = (kind: Kind, current: Saved | undefined, after: Saved | undefined) =>
  ({ kind, action: 'updated', current, after, changes: [] }) as unknown as Step

const check = async (items: Record<string, Saved[]>, ...steps: Step[]) => {
  const list = ((folder: string) => items[folder] ?? []) as NextDefinitions['list']
  await refuseSharedNames([sources, endpoints, alerts], steps, { list }, { hasUnread: () => false })
  return steps.flatMap(({ changes }) => changes)
}

test('refuses a new name that a record of a missing kind has', async () => {
  const missing: [string, string][] = [
    ['table', 'plans'],
    ['alert', 'report'],
  ]
  const hasUnread = (kind: string, name?: string) => missing.some((one) => one[0] === kind && one[1] === name)
  const create = (name: string) =>
    refuseSharedNames(
      [sources, endpoints],
      [stepOf(sources, undefined, saved(name))],
      { list: () => [] },
      { hasUnread },
    )
  await expect(create('plans')).rejects.toMatchObject({
    message: 'The name "plans" is already taken by a table. Choose another.',
  })
  // SQL does not read alerts.
  await create('report')
})

test('refuses a new name that another kind has, also as an alias', async () => {
  const items = {
    sources: [saved('report', ['old'])],
    endpoints: [saved('report'), saved('old')],
    alerts: [],
  }
  const refused = (step: Step) => expect(check(items, step)).rejects.toMatchObject({ code: 'name_taken' })
  await refused(stepOf(sources, undefined, saved('report')))
  await refused(stepOf(sources, saved('report'), saved('report', ['old'])))
  await refused(stepOf(endpoints, saved('before'), saved('report')))
  await refused(stepOf(endpoints, undefined, saved('old')))
  expect(await check(items, stepOf(alerts, undefined, saved('report')))).toEqual([])
  expect(await check(items, stepOf(endpoints, undefined, saved('Report')))).toEqual([])
})

test('reports a clash that was there before, and allows changes and deletions', async () => {
  const items = { sources: [saved('report')], endpoints: [saved('report')] }
  const changes = await check(items, stepOf(endpoints, saved('report'), saved('report')))
  expect(changes).toMatchObject([{ kind: 'name_shared', breaking: false }])
  expect(await check(items, stepOf(endpoints, saved('report'), undefined))).toEqual([])
})
