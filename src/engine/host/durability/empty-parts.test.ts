import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { setEmptyPartsAside } from './empty-parts.ts'

let store: string
let table: string
beforeEach(() => {
  store = mkdtempSync(join(tmpdir(), 'wellhead-empty-'))
  table = join(store, 'store', 'a32', 'a3252f85-25d4-4680-b945-8624f35cf2d2')
  mkdirSync(table, { recursive: true })
})
afterEach(() => rmSync(store, { recursive: true, force: true }))

function part(name: string, sums?: string): void {
  mkdirSync(join(table, name))
  if (sums !== undefined) writeFileSync(join(table, name, 'checksums.txt'), sums)
}

test('parts without content are put aside before the engine sees them', () => {
  part('20261115_1_1_0', 'sums')
  part('20261115_2_2_0', '')
  part('20261115_1_2_1', '')
  part('detached')
  expect(setEmptyPartsAside(store)).toBe(2)
  expect(readdirSync(table).sort()).toEqual(['20261115_1_1_0', 'detached'])
  expect(readdirSync(join(table, 'detached')).sort()).toEqual([
    'empty_20261115_1_2_1',
    'empty_20261115_2_2_0',
  ])
  expect(setEmptyPartsAside(store)).toBe(0)
})
