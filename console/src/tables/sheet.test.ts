import { expect, test } from 'vitest'
import { readSheet } from './sheet.ts'

test('reads CSV with the types of its columns, and sends it as it is', async () => {
  const text =
    'id,Plan,seats,active,since,zip\r\n1,"pro, yearly",5,TRUE,2026-01-02T03:04:05Z,00123\r\n2,,,,,\r\n'
  const { columns, first, read, isWhole, csv } = readSheet(`\ufeff${text}`)
  expect(columns.map(({ name, type }) => `${name} ${type}`)).toEqual([
    'id number',
    'Plan text',
    'seats number',
    'active boolean',
    'since timestamp',
    'zip text',
  ])
  expect(first).toEqual([
    { id: 1, Plan: 'pro, yearly', seats: 5, active: true, since: '2026-01-02T03:04:05Z', zip: '00123' },
    { id: 2, Plan: null, seats: null, active: null, since: null, zip: null },
  ])
  expect([read, isWhole]).toEqual([2, true])
  expect(await csv().text()).toBe(text)
})

test('reads cells that were copied from a spreadsheet', async () => {
  const { columns, csv } = readSheet('Customer ID\tNáme of it\n7\tAcme, Inc.\n8\t"two\nlines"\n9\t\n')
  expect(columns.map(({ name }) => name)).toEqual(['customer_id', 'name_of_it'])
  expect(await csv().text()).toBe('customer_id,name_of_it\n7,"Acme, Inc."\n8,"two\nlines"\n9,\n')
})

test('reads files with semicolons', async () => {
  expect(await readSheet('id;price\na;1,5\n').csv().text()).toBe('id,price\na,"1,5"\n')
})

test('leaves names alone that have no letters of SQL, so that the service refuses them', () => {
  expect(readSheet('名前,1st\na,b\n').columns.map(({ name }) => name)).toEqual(['名前', '1st'])
})

test('shows declared types, and texts that do not fit them', () => {
  const { columns, first } = readSheet('id,seats\n1,many\n', [
    { name: 'id', type: 'text' },
    { name: 'seats', type: 'number' },
  ])
  expect(columns.map(({ type }) => type)).toEqual(['text', 'number'])
  expect(first).toEqual([{ id: '1', seats: 'many' }])
})

test('stops reading long texts', () => {
  const { read, isWhole, first } = readSheet(`id\n${'1\n'.repeat(100_001)}`)
  expect([read, isWhole, first.length]).toEqual([100_000, false, 50])
})

test.each([
  ['', 'The body is empty'],
  ['a,b\n1\n', 'Row 2 has 1 fields, and the header 2'],
  ['a\n"1\n', 'Row 2 has a quote that is not closed'],
])('refuses %j', (text, message) => {
  expect(() => readSheet(text)).toThrow(message)
})
