import { expect, test } from 'vitest'
import { singleServer } from '../../core/engine/cluster/topology.ts'
import { features } from '../../features.ts'
import { ownTablesOf } from '../../own-tables.ts'
import { copiedTable } from './copy-installation.ts'

/** Columns that the server fills, and whose values do not matter. */
const notCopied: Record<string, string[]> = { _alerts: ['at'], _erasures: ['at'] }

test('a copy has every column of every table of the service', async () => {
  const tables = await ownTablesOf(features)
  const created = tables
    .flatMap(({ create }) => create(singleServer('logs')))
    .map((sql) => {
      const [, name = '', columns = ''] = /`(_\w+)` \((.*)\) ENGINE/.exec(sql) ?? []
      const names = [...columns.matchAll(/(?:^|, )(\w+) [A-Z]/g)].map(([, column]) => column)
      return [name, names.sort()]
    })
  const copied = tables.map(copiedTable).map(({ name, columns }) => {
    return [name, [...columns, ...(notCopied[name] ?? [])].sort()]
  })
  expect(created.length).toBeGreaterThan(5)
  expect(Object.fromEntries(copied)).toEqual(Object.fromEntries(created))
})
