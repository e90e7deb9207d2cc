import { expect, test } from 'vitest'
import { metadataColumn } from './sql-dialect.ts'

test.each([
  ['response.status_code', 'metadata.response.status_code'],
  ['a b', 'metadata.`a b`'],
  ['<b>k</b>', 'metadata.`<b>k</b>`'],
  ['request.x-forwarded-for', 'metadata.request.`x-forwarded-for`'],
  ['dotted%2Ekey.1st', 'metadata.`dotted.key`.`1st`'],
  ['tick`\\', 'metadata.`tick\\`\\\\`'],
])('writes %j as %s', (path, column) => {
  expect(metadataColumn(path)).toBe(column)
})
