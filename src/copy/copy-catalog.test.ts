import { expect, test } from 'vitest'
import { type CatalogRow, chunksOf } from './copy-catalog.ts'

function row(bytes: number): CatalogRow {
  const body = 'x'.repeat(bytes)
  return {
    entry: '',
    kind: 'endpoint',
    id: '',
    version: 1,
    changed_at: '',
    changed_by: '',
    deleted: false,
    body,
  }
}

test('many rows are copied in several inserts, each row once', () => {
  const mebibyte = 2 ** 20
  expect([...chunksOf([])]).toEqual([])
  expect([...chunksOf([row(1), row(2)])]).toEqual([[0, 2]])
  expect([...chunksOf(Array.from({ length: 20 }, () => row(mebibyte)))]).toEqual([
    [0, 17],
    [17, 20],
  ])
  expect([...chunksOf([row(20 * mebibyte), row(20 * mebibyte)])]).toEqual([
    [0, 1],
    [1, 2],
  ])
})
