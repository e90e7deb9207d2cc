import { expect, test } from 'vitest'
import { singleServer } from '../../core/engine/cluster/topology.ts'
import { createProjectTables } from '../../core/engine/project-tables.ts'
import { createOwnTables } from '../../core/engine/tables.ts'
import { catalogTable, ownTables } from './copy-installation.ts'

/** Columns that the server fills, and whose values do not matter. */
const notCopied: Record<string, string[]> = { _alerts: ['at'], _erasures: ['at'] }

test('a copy has every column of every table of the service', () => {
  const topology = singleServer('logs')
  const created = [...createOwnTables(topology), ...createProjectTables(topology)].map((sql) => {
    const [, name = '', columns = ''] = /`(_\w+)` \((.*)\) ENGINE/.exec(sql) ?? []
    const names = [...columns.matchAll(/(?:^|, )(\w+) [A-Z]/g)].map(([, column]) => column)
    return [name, names.sort()]
  })
  const copied = [catalogTable, ...ownTables].map(({ name, columns }) => {
    return [name, [...columns, ...(notCopied[name] ?? [])].sort()]
  })
  expect(Object.fromEntries(copied)).toEqual(Object.fromEntries(created))
})
