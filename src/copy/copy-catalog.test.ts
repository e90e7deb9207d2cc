import { expect, test } from 'vitest'
import { type CatalogRow, inOrder } from './copy-catalog.ts'

function row(second: number, version: number, id: string): CatalogRow {
  const changed_at = `2026-01-01 00:00:0${second}.000000`
  return { entry: '', kind: 'endpoint', id, version, changed_at, changed_by: '', deleted: false, body: '{}' }
}

const runs = (...rows: CatalogRow[]) => [...inOrder(rows)].map((run) => rows.indexOf(run[0] as CatalogRow))

test('one insert is enough for rows whose order follows from their values', () => {
  expect(runs(row(1, 1, 'b'), row(1, 1, 'c'), row(1, 2, 'a'), row(2, 1, 'a'))).toEqual([0])
  expect(runs()).toEqual([])
})

test('a row that would come earlier begins a new insert', () => {
  // A clock that was set back, versions and ids at the same time, and equal rows.
  expect(runs(row(2, 1, 'a'), row(1, 1, 'b'), row(3, 1, 'c'))).toEqual([0, 1])
  expect(runs(row(1, 2, 'a'), row(1, 1, 'b'))).toEqual([0, 1])
  expect(runs(row(1, 1, 'b'), row(1, 1, 'a'))).toEqual([0, 1])
  expect(runs(row(1, 1, 'a'), row(1, 1, 'a')).length).toBe(2)
})
